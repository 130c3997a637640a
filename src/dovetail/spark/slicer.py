"""The slicer: rows of any streaming DataFrame into a category of the log, sharded by the join key.

Paper, section 4.2. Expressions, filters and projections are DataFrame code and run in the JVM. Segments are
written inside the tasks; the driver then makes them exist with one commit. A micro-batch that is run again
finds its commit there and changes nothing: Spark's batch number is the producer's batch number.

    _hash   xxhash64 of the key columns; the side of a theta join has no keys, and none of this
    _time   microseconds since the epoch, or why there is none (`model/time_codes.py`)
    _key_i  the key columns, to tell equal keys from equal hashes
    ...     payload
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from dovetail.model.time_codes import NO_TIME, NULL_KEY
from dovetail.model.validity import Validity
from dovetail.plan.dialect import quoted
from dovetail.spark.arrow_types import arrow_schema
from dovetail.spark.failures import told

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.log.category import Category
    from dovetail.log.limits import Role
    from dovetail.model.compression import Compression

HASH, TIME = "_hash", "_time"


def sliced(rows: DataFrame, keys: Sequence[str], time: str, key_types: Sequence[DataType]) -> DataFrame:
    """Rows with `_hash` and `_time` in front. Both sides' keys are cast to common types first, so that equal
    keys have equal hashes."""
    for key, kind in zip(keys, key_types, strict=True):
        if rows.schema[key].dataType != kind:
            rows = rows.withColumn(key, F.col(f"`{key}`").cast(kind))
    micros = f"unix_micros(CAST({quoted(time)} AS TIMESTAMP))"
    payload = [name for name in rows.columns if name != time and name not in keys]
    if not keys:
        return rows.selectExpr(f"coalesce({micros}, {_literal(NO_TIME)}) AS {TIME}", *map(quoted, payload))
    no_key = " OR ".join(f"{quoted(key)} IS NULL" for key in keys)
    return rows.selectExpr(  # as text: every Column made from Python is a call into the JVM
        f"xxhash64({', '.join(map(quoted, keys))}) AS {HASH}",
        f"CASE WHEN {no_key} THEN {_literal(NULL_KEY)} ELSE coalesce({micros}, {_literal(NO_TIME)}) END"
        f" AS {TIME}",
        *map(quoted, [*keys, *payload]),
    )


def _literal(number: int) -> str:
    """A BIGINT in SQL; the smallest has no positive counterpart to put a minus before."""
    return f"CAST('{number}' AS BIGINT)"


@dataclass(frozen=True)
class Placement:
    """Which columns say where rows go: the bucket by a hash (None: one bucket), the commit's sketch by a
    time. With `validity` the rows are a join's side, and their times are judged."""

    hash: str | None
    time: str | None
    validity: Validity | None = None


@dataclass(frozen=True)
class WriteSegments:
    """Runs inside the tasks (`mapInArrow`): writes segments, hands their descriptions back."""

    home: str
    category: str
    placement: Placement

    @told
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from dovetail.log.category import Category
        from dovetail.slicing.sides import Written, write_side
        from dovetail.slicing.write_rows import bucket_of, time_of

        category, placement = Category.open(self.home, self.category), self.placement
        if placement.validity is not None:
            written = write_side(category, batches, placement.validity)
        else:
            bucket = bucket_of(placement.hash, category.buckets)
            written = Written(category.write_segments(batches, bucket, time_of(placement.time)))
        yield pa.record_batch({"written": [written.to_json()]})


def append_batch(
    rows: DataFrame, batch: int, category: Category, producer: str, placement: Placement
) -> None:
    """One micro-batch into the log. To be called from `foreachBatch`."""
    from dovetail.slicing.sides import append_written

    write = WriteSegments(category.home, category.name, placement)
    written = [row[0] for row in rows.mapInArrow(write, "written string").collect()]
    append_written(category, written, producer, batch)


def make_category(
    rows: DataFrame, home: str, name: str, buckets: int, compression: Compression, role: Role
) -> Category:
    """The category that takes these rows; it must not exist with other columns."""
    from dovetail.log.category import Category

    schema = arrow_schema(rows.schema)
    return Category.create(home, name, schema, buckets=buckets, compression=compression, role=role)
