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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from dovetail.errors import PlanError
from dovetail.model.time_codes import NO_TIME, NULL_KEY
from dovetail.plan.dialect import quoted
from dovetail.slicing.direct import DirectSlice
from dovetail.slicing.file_form import FilePiece, dealt
from dovetail.slicing.parquet_files import row_groups
from dovetail.slicing.placement import HASH, TIME, Placement
from dovetail.spark.arrow_types import arrow_schema
from dovetail.spark.failures import packs_errors
from dovetail.spark.rows_in_tasks import in_tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.log.category import Category
    from dovetail.log.limits import Role
    from dovetail.model.compression import Compression


def common_type(left: DataFrame, right: DataFrame, keys: tuple[str, str], join: str) -> DataType:
    """The type in which a key of both sides is compared."""
    kinds = [rows.schema[key].dataType for rows, key in zip((left, right), keys, strict=True)]
    if kinds[0] == kinds[1]:
        return kinds[0]
    nulls = [F.lit(None).cast(kind) for kind in kinds]
    try:
        return left.sparkSession.range(0).select(F.coalesce(*nulls)).schema[0].dataType
    except AnalysisException as error:
        raise PlanError(
            f"the two sides of a join key have types that cannot be compared: "
            f"{kinds[0].simpleString()} and {kinds[1].simpleString()}",
            where=f"join {join}",
            hint="cast one side in the ON clause",
        ) from error


def require_time(rows: DataFrame, time: str, stage: str) -> None:
    kind = rows.schema[time].dataType.simpleString()
    if kind not in ("timestamp", "timestamp_ntz"):
        raise PlanError(
            f"the join window is on a column of type {kind}",
            where=f"stage {stage}",
            expected="a timestamp",
            hint="convert it in the ON clause: timestamp_seconds(x), to_timestamp(x, 'format')",
        )


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
class WriteRows:
    """Runs inside the tasks (`mapInArrow`): writes rows as segments, hands their descriptions back."""

    home: str
    category: str
    placement: Placement
    generation: int | None

    @packs_errors
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from dovetail.log.category import Category
        from dovetail.slicing.sides import write_rows

        category = Category.open(self.home, self.category, self.generation)
        written = write_rows(category, batches, self.placement)
        yield pa.record_batch({"written": [written.to_json()]})


@dataclass(frozen=True)
class WriteFiles:
    """The same for row groups of files, on the short way."""

    short: DirectSlice

    @packs_errors
    def __call__(self, parts: Iterable[list[FilePiece]]) -> Iterator[str]:
        yield self.short.write(group for part in parts for group in part).to_json()


def write_batch(rows: DataFrame, category: Category, placement: Placement) -> list[str]:
    """The rows of a micro-batch as segments, for `append_written` to name."""
    write = WriteRows(category.home, category.name, placement, category.generation)
    return [row[0] for row in in_tasks(rows, write).collect()]


def write_files(context: SparkContext, files: Sequence[str], short: DirectSlice) -> list[str]:
    """The rows of these files, in the order they came, as segments, for `append_written` to name."""
    shares = dealt(row_groups(files), context.defaultParallelism)
    if not shares:
        return []
    return context.parallelize(shares, len(shares)).mapPartitions(WriteFiles(short)).collect()


def make_category(
    rows: DataFrame,
    home: str,
    name: str,
    buckets: int,
    compression: Compression,
    role: Role,
    *,
    evolve: bool = True,
) -> Category:
    """The category that takes these rows. One that exists with other columns, or that is compressed
    otherwise, evolves if it may."""
    from dovetail.log.category import Category

    schema = arrow_schema(rows.schema)
    made = Category.create(
        home, name, schema, buckets=buckets, compression=compression, role=role, evolve=evolve
    )
    return made.evolve(schema, compression) if evolve else made
