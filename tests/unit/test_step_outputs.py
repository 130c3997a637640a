"""What tasks write themselves: counted, into the log, sliced for the next join, as Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log.category import Category
from dovetail.model.time_codes import NO_TIME, NULL_KEY
from dovetail.model.validity import Validity
from dovetail.plan.evaluate import compile_select
from dovetail.slicing.parquet_output import ParquetRows, WrittenFile, parquet_rows
from dovetail.slicing.placement import Placement
from dovetail.slicing.sides import Written, append_written
from dovetail.slicing.step_outputs import CountedRows, Evaluated, LogRows, side_rows

MOMENT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("k", pa.int64()), ("t", MOMENT), ("x", pa.string())])
ROWS = pa.record_batch(
    [pa.array([1, 2, None]), pa.array([10, None, 30], MOMENT), pa.array(["a", "b", None])], schema=SCHEMA
)
SIDE = pa.schema([("_hash", pa.int64()), ("_time", pa.int64()), ("k", pa.int64()), ("x", pa.string())])
SETTINGS = {
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.writeLegacyFormat": "false",
}


def rows_of(category: Category) -> list[dict[str, object]]:
    commits = category.commits(0, category.next_commit())
    batches = [category.open_segment(info).batch for commit in commits for info in commit.segments]
    return pa.Table.from_batches(batches, category.schema).sort_by("x").to_pylist()


def test_counted() -> None:
    assert CountedRows().write([ROWS, ROWS]) == "6"
    assert CountedRows().write([ROWS.slice(0, 0)]) is None
    assert CountedRows().write([]) is None


def test_computed_first() -> None:
    select = compile_select("SELECT k + 1 AS n FROM g WHERE x IS NOT NULL", {"g": SCHEMA})
    assert select is not None
    assert Evaluated(select, CountedRows()).write([ROWS]) == "2"


def test_into_a_category(tmp_path: Path) -> None:
    category = Category.create(str(tmp_path), "out", SCHEMA, buckets=1)
    output = LogRows(category.home, category.name, Placement(None, "t"))
    written = output.write([ROWS])
    assert written is not None
    assert category.next_commit() == 0, "nothing exists yet"
    append_written(category, [written], "app.join", 0)
    append_written(category, [written], "app.join", 0)
    assert rows_of(category) == ROWS.to_pylist()
    assert output.write([ROWS.slice(0, 0)]) is None


def test_sharded_by_a_value_that_may_be_null(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("_hash", pa.int64(), False), *SCHEMA])
    category = Category.create(str(tmp_path), "out", schema, buckets=4)
    given = pa.record_batch([ROWS.column("k"), *ROWS.columns], names=["_hash", *SCHEMA.names])
    written = LogRows(category.home, category.name, Placement("_hash", "t"), sharded=True).write([given])
    assert written is not None
    append_written(category, [written], "app.join", 0)
    hashes = [*hash_keys([pa.array([1, 2])]).tolist(), 42]
    assert [row["_hash"] for row in rows_of(category)] == hashes


def test_sliced_for_the_next_join(tmp_path: Path) -> None:
    category = Category.create(str(tmp_path), "side", SIDE, buckets=4, role="side")
    output = side_rows(SCHEMA, category, ("k",), "t", Validity())
    assert output is not None
    written = output.write([ROWS])
    assert written is not None
    append_written(category, [written], "app.join", 0)
    first, second, third = rows_of(category)
    assert first == {"_hash": hash_keys([pa.array([1])])[0], "_time": 10, "k": 1, "x": "a"}
    assert (second["_time"], third["_time"]) == (NO_TIME, NULL_KEY)
    assert len(Written.from_json(written).invalid) == 1, "the row without a time"


@pytest.mark.parametrize(
    ("name", "kind"), [("k", pa.int32()), ("k", pa.decimal128(9, 0)), ("t", pa.int64()), ("x", pa.binary())]
)
def test_another_type_is_left_to_spark(tmp_path: Path, name: str, kind: pa.DataType) -> None:
    category = Category.create(str(tmp_path), "side", SIDE, buckets=4, role="side")
    given = SCHEMA.set(SCHEMA.get_field_index(name), pa.field(name, kind))
    assert side_rows(given, category, ("k",), "t", Validity()) is None


def test_one_file_that_is_whole_or_not_there(tmp_path: Path) -> None:
    output = parquet_rows(str(tmp_path), SCHEMA, SETTINGS, {"who": "we"})
    assert output is not None
    assert output.write([ROWS.slice(0, 0)]) is None

    def breaks() -> object:
        yield ROWS
        assert list(tmp_path.glob("*.parquet")) == []
        raise RuntimeError("the join has failed")

    with pytest.raises(RuntimeError, match="has failed"):
        output.write(breaks())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    said = output.write([ROWS, ROWS])
    assert said is not None
    file = WrittenFile.from_json(said)
    assert pq.read_table(file.path).num_rows == 6
    metadata = pq.read_metadata(file.path)
    assert metadata.metadata == {b"who": b"we"}
    assert metadata.schema.column(1).physical_type == "INT96"
    assert file.size == Path(file.path).stat().st_size


@pytest.mark.parametrize(
    "change",
    [
        {"spark.sql.parquet.compression.codec": "brotli"},
        {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"},
        {"spark.sql.parquet.writeLegacyFormat": "true"},
    ],
)
def test_settings_that_only_spark_knows(change: dict[str, str]) -> None:
    assert isinstance(parquet_rows("/out", SCHEMA, SETTINGS, {}), ParquetRows)
    assert parquet_rows("/out", SCHEMA, SETTINGS | change, {}) is None


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.timestamp("us"), pa.duration("us")])
def test_types_that_only_spark_writes(kind: pa.DataType) -> None:
    assert parquet_rows("/out", SCHEMA.append(pa.field("y", kind)), SETTINGS, {}) is None
