"""The slicer's short way: Parquet files into the log without a detour through the JVM's rows.

Most of a slicer's time goes into turning Parquet columns into Spark rows, these into Arrow columns, and
sending them to Python. Where a stage only picks and renames columns of Parquet files, or computes what Arrow
computes exactly as Spark does (`slicing/evaluation.py`), its tasks read the files with Arrow themselves.
Spark still finds the files, numbers the micro-batches, schedules the tasks and runs them again when they
fail. Segments, commits and hashes are the same as on the long way, so a stage may change from one to the
other between two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from dovetail.errors import InputError
from dovetail.model.validity import Validity
from dovetail.slicing.file_form import FilePiece
from dovetail.slicing.parquet_files import read_row_group, widens
from dovetail.slicing.placement import HASH, TIME

if TYPE_CHECKING:
    from dovetail.log.category import Category
    from dovetail.slicing.evaluation import Evaluation
    from dovetail.slicing.sides import Written


@dataclass(frozen=True)
class DirectSlice:
    """What the tasks need to know: which input column makes which column of the category. With `computed`
    the columns are those that it makes of the file's."""

    home: str
    category: str
    columns: tuple[tuple[str, str], ...]  # of the category, of the file
    keys: tuple[str, ...]  # of the category
    time: str  # of the file
    validity: Validity
    computed: Evaluation | None = None
    generation: int | None = None  # of the category; None: the newest

    @property
    def read_columns(self) -> list[str]:
        """The columns of a file that are needed."""
        plain = [*(source for _, source in self.columns), self.time]
        return list(dict.fromkeys(plain if self.computed is None else self.computed.read_types))

    def write(self, groups: Iterable[FilePiece]) -> Written:
        """Row groups as segments of the category, for `append_written` to name."""
        wanted = self.read_columns
        return self.write_tables(read_row_group(file, number, wanted) for file, number, _ in groups)

    def write_tables(self, tables: Iterable[pa.Table]) -> Written:
        """The same for rows that are read already."""
        from dovetail.log.category import Category
        from dovetail.slicing.sides import write_side
        from dovetail.slicing.write_rows import sliced_batch

        category = Category.open(self.home, self.category, self.generation)
        schema = category.schema
        made = tables if self.computed is None else (computed_rows(rows, self.computed) for rows in tables)
        batches = (sliced_batch(rows, self.columns, self.keys, self.time, schema) for rows in made)
        return write_side(category, batches, self.validity)

    def require(self, stored: pa.Schema, file: str) -> None:
        """That files with this schema, that of `file`, can be sliced so."""
        for name, kept in self._needed():
            if name not in stored.names:
                continue  # it is null there
            read = stored.field(name).type
            if not _fits(read, kept):
                raise InputError(
                    f"the file has another type for column {name}: {read}",
                    where=file,
                    expected=str(kept),
                    hint="rewrite it with the type that was declared, or keep it in another directory",
                )

    def _needed(self) -> list[tuple[str, pa.DataType]]:
        """The columns of a file that are read, and the types that they must fit."""
        from dovetail.log.category import Category

        if self.computed is not None:
            return list(self.computed.read_types.items())
        schema = Category.open(self.home, self.category, self.generation).schema
        return [(source, schema.field(name).type) for name, source in self.columns]


def direct_slice(
    stored: pa.Schema,
    category: Category,
    projection: Mapping[str, str],
    keys: Sequence[str],
    time: str,
    validity: Validity,
) -> DirectSlice | None:
    """The short way into a category for files with this schema, if there is one: the files have the types of
    the category, and keys that Arrow and the category hash alike. `projection`: the file's column by the
    category's."""
    from dovetail.joins.rows.key_hash import hashable

    columns = tuple((name, projection[name]) for name in category.schema.names if name not in (HASH, TIME))
    if not set(projection.values()) <= set(stored.names):
        return None
    for name, column in columns:
        if not _fits(stored.field(column).type, category.schema.field(name).type):
            return None
    if not all(hashable(category.schema.field(key).type) for key in keys):
        return None
    if not pa.types.is_timestamp(stored.field(projection[time]).type):
        return None
    place = category.home, category.name
    made = DirectSlice(*place, columns, tuple(keys), projection[time], validity)
    return replace(made, generation=category.generation)


def _fits(read: pa.DataType, kept: pa.DataType) -> bool:
    """The values of a file's column are those of the category's: the same type, any unit of time, or a number
    that becomes wider without changing."""
    return widens(read, kept) or bool(pa.types.is_timestamp(read) and pa.types.is_timestamp(kept))


def computed_slice(
    stored: pa.Schema,
    category: Category,
    computed: Evaluation,
    keys: Sequence[str],
    time: str,
    validity: Validity,
) -> DirectSlice | None:
    """The same where columns are computed, or rows left out, from files with this schema."""
    given, made = as_read(stored), computed.schema
    known = all(given.field(name).type.equals(kind) for name, kind in computed.read_types.items())
    short = direct_slice(made, category, {name: name for name in made.names}, keys, time, validity)
    if short is None or not computed.read_types or not known:
        return None
    kept = category.schema
    exact = all(made.field(name).type.equals(kept.field(name).type) for name, _ in short.columns)
    return replace(short, computed=computed) if exact else None


def computed_rows(rows: pa.Table, computed: Evaluation) -> pa.Table:
    """A file's columns as Spark reads them, and what is computed from them."""
    from dovetail.slicing.write_rows import one_array

    rows = rows.combine_chunks()
    given = {name: one_array(rows, name, kind) for name, kind in computed.read_types.items()}
    return pa.Table.from_batches([computed(pa.record_batch(given))])


def as_read(stored: pa.Schema) -> pa.Schema:
    """The columns of a file in the types that they have in Spark: times are microseconds, in UTC."""
    return pa.schema([(field.name, _as_read(field.type)) for field in stored])


def _as_read(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind
