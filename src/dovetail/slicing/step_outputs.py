"""What a task does with the rows of a join's step that it writes itself, so that the JVM never sees them.

Law: the same rows get to the same place as through Spark, in the same types. `write` says in a short text
what it has written, None if there was no row. Nothing of it exists before the driver has the texts of all
tasks: a task that runs again writes again, and what no text names does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from dovetail.model.validity import Validity
from dovetail.slicing.placement import HASH, TIME, Placement

if TYPE_CHECKING:
    from dovetail.log.category import Category

HASH_OF_NULL = 42
"""Spark's `xxhash64` passes a null over: what is left is its seed."""


class StepOutput(Protocol):
    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None: ...


@dataclass(frozen=True)
class Evaluated:
    """What follows the join is computed first."""

    select: Callable[[pa.RecordBatch], pa.RecordBatch]
    output: StepOutput

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        return self.output.write(map(self.select, rows))


@dataclass(frozen=True)
class CountedRows:
    """Rows that go nowhere. They are made all the same: an expression that fails must fail here too."""

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        count = sum(batch.num_rows for batch in rows)
        return str(count) if count else None


@dataclass(frozen=True)
class LogRows:
    """Rows in the columns of a category, of the generation that they were made for. `sharded`: the column
    `_hash` has the value that is to be hashed."""

    home: str
    category: str
    placement: Placement
    sharded: bool = False
    generation: int | None = None

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        from dovetail.log.category import Category
        from dovetail.slicing.sides import write_rows

        given = map(_hashed, rows) if self.sharded else rows
        category = Category.open(self.home, self.category, self.generation)
        written = write_rows(category, given, self.placement)
        return written.to_json() if written.segments else None


@dataclass(frozen=True)
class NextStageRows:
    """Rows that another join, or an aggregate, reads next: they are sliced for it at once. `columns`: of the
    category, without hash and time, each from the column of that name."""

    home: str
    category: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    time: str
    validity: Validity
    generation: int | None = None

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        from dovetail.log.category import Category
        from dovetail.slicing.sides import write_side
        from dovetail.slicing.write_rows import sliced_batch

        category = Category.open(self.home, self.category, self.generation)
        pairs = [(name, name) for name in self.columns]
        batches = (
            sliced_batch(pa.Table.from_batches([batch]), pairs, self.keys, self.time, category.schema)
            for batch in rows
        )
        written = write_side(category, batches, self.validity)
        return written.to_json() if written.segments else None


def side_rows(
    given: pa.Schema, category: Category, keys: tuple[str, ...], time: str, validity: Validity
) -> NextStageRows | None:
    """For rows of the schema `given`, if Arrow can slice them as Spark does: the same types, keys that both
    hash alike."""
    from dovetail.joins.rows.key_hash import hashable

    kept = category.schema
    columns = tuple(name for name in kept.names if name not in (HASH, TIME))
    if any(not given.field(name).type.equals(kept.field(name).type) for name in columns):
        return None
    if not all(hashable(kept.field(key).type) for key in keys):
        return None
    if not pa.types.is_timestamp(given.field(time).type):
        return None
    return NextStageRows(category.home, category.name, columns, keys, time, validity, category.generation)


def _hashed(batch: pa.RecordBatch) -> pa.RecordBatch:
    from dovetail.joins.rows.key_hash import hash_keys

    at = batch.schema.get_field_index(HASH)
    values = batch.column(at)
    hashes = pa.array(hash_keys([values]))
    if values.null_count:
        hashes = pc.if_else(values.is_valid(), hashes, pa.scalar(HASH_OF_NULL, pa.int64()))
    return batch.set_column(at, pa.field(HASH, pa.int64(), False), hashes)
