"""Parquet files that the tasks of a join write themselves: what Spark, DuckDB and Arrow read from them is
what Spark's own sink would have written, into a folder that it may have begun."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from dovetail.errors import HomeError
from dovetail.spark import step_writing
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import START_US, events, write_files
from spark.pairs import pairs

ROWS = 2000
LEFT, RIGHT = events(ROWS, 200, 71), events(ROWS, 200, 72)
EXPECTED = join_sql("left", "l.id, r.id", ON)
PQL = pairs("LEFT", storage='PARQUET(path = "{here}/out put")')
LEGACY = "spark.sql.parquet.writeLegacyFormat"
"""A setting under which Spark writes files itself."""

TYPES = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, tiny, small, number, big, float4, float8, word, octets, flag,
        dated, cents, price, total) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.eventtime AS moment, l.k AS k, tiny, small, number, big, float4, float8,
        word, octets, flag, dated, cents, price, total, r.id AS id FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL 1 HOUR AND l.eventtime + INTERVAL 1 HOUR;
    CREATE TABLE out AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/ours");
"""


@pytest.fixture
def by_spark(application: Application) -> Iterator[Application]:
    """An application whose files Spark writes, until the setting is gone."""
    application.spark.conf.set(LEGACY, "true")
    yield application
    application.spark.conf.unset(LEGACY)


def feed(application: Application, part: int) -> None:
    for name, table in (("l", LEFT), ("r", RIGHT)):
        write_files(table.slice(part * ROWS // 2, ROWS // 2), application.folder / name, 1, first=part)


def written_by(file: str) -> str:
    return "spark" if "parquet-mr" in pq.read_metadata(file).created_by else "tasks"


def assert_every_row_once(application: Application) -> None:
    out = application.folder / "out put"
    files = application.files("out put")
    db = database(l=LEFT, r=RIGHT, found=files)
    assert differences(db, "FROM found", EXPECTED) == {}
    count = db.execute("SELECT count(*) FROM found").fetchall()[0][0]
    assert application.spark.read.parquet(str(out)).count() == count
    assert pyarrow.dataset.dataset(files).count_rows() == count


def test_a_folder_that_spark_has_begun(by_spark: Application) -> None:
    application = by_spark
    feed(application, 0)
    application.run(PQL, "available-now")
    assert {written_by(file) for file in application.files("out put")} == {"spark"}
    application.spark.conf.unset(LEGACY)
    feed(application, 1)
    application.run(PQL)
    assert {written_by(file) for file in application.files("out put")} == {"spark", "tasks"}
    assert_every_row_once(application)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_dies_about_the_time_that_files_are_named(
    application: Application, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    name_files = step_writing.name_files

    def dies(*arguments: object) -> None:
        if when == "after":
            name_files(*arguments)  # type: ignore[arg-type]
        raise HomeError("the machine is gone", where="the sink")

    feed(application, 0)
    with monkeypatch.context() as patch:
        patch.setattr(step_writing, "name_files", dies)
        with pytest.raises(HomeError, match="is gone"):
            application.run(PQL, "available-now")
    out = application.folder / "out put"
    on_disk = set(out.glob("*.parquet"))
    assert on_disk
    assert not list(out.glob(".*.writing"))
    feed(application, 1)
    application.run(PQL)
    assert_every_row_once(application)
    named = {Path(file) for file in application.files("out put")}
    assert on_disk & named == (on_disk if when == "after" else set())


def noted(metadata: pq.FileMetaData) -> dict[bytes, object]:
    """What a footer says besides. The row's type is JSON, whose order means nothing."""
    row = b"org.apache.spark.sql.parquet.row.metadata"
    return {name: json.loads(text) if name == row else text for name, text in metadata.metadata.items()}


def test_types_are_those_that_spark_writes(application: Application) -> None:
    write_types(application.folder)
    application.run(TYPES)
    mine = application.files("ours")
    assert {written_by(file) for file in mine} == {"tasks"}
    rows = application.spark.read.parquet(str(application.folder / "ours"))
    rows.coalesce(1).write.parquet(str(application.folder / "theirs"))
    (theirs,) = (application.folder / "theirs").glob("*.parquet")
    ours, spark = pq.read_metadata(mine[0]), pq.read_metadata(theirs)
    assert stored(ours) == stored(spark)
    assert noted(ours) == noted(spark)
    read = [pq.read_table(files).sort_by("cents") for files in (mine, theirs)]
    assert read[0].schema.equals(read[1].schema)
    shown = [table.set_column(0, "moment", table["moment"].cast(pa.int64())) for table in read]
    assert repr(shown[0].to_pydict()) == repr(shown[1].to_pydict())
    query = "SELECT * FROM read_parquet({files}) ORDER BY cents"
    found = [database().execute(query.format(files=files)).fetchall() for files in (mine, [str(theirs)])]
    assert repr(found[0]) == repr(found[1])
    assert len(found[0]) == 6


def stored(metadata: pq.FileMetaData) -> list[tuple[object, ...]]:
    columns = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    return [
        (c.path, c.physical_type, str(c.logical_type), c.converted_type, c.max_definition_level, c.length)
        for c in columns
    ]


def write_types(folder: Path) -> None:
    moments = [START_US, START_US + 1, -62_135_596_800_000_000, 253_402_300_799_999_999, START_US + 7, None]
    cents = [decimal.Decimal(text) for text in ("1.25", "-3.50", "0.01", "9.99", "0.00")]
    left = {
        "eventtime": pa.array(moments).cast(pa.timestamp("us", "UTC")),
        "k": pa.array([1, 2, 3, 4, None, 6]),
        "tiny": pa.array([1, -128, 127, 0, None, 1], pa.int8()),
        "small": pa.array([1, -(2**15), 2**15 - 1, 0, None, 1], pa.int16()),
        "number": pa.array([1, -(2**31), 2**31 - 1, 0, None, 1], pa.int32()),
        "big": pa.array([1, -(2**63), 2**63 - 1, 0, None, 1], pa.int64()),
        "float4": pa.array([1.5, float("nan"), float("-inf"), -0.0, None, 1], pa.float32()),
        "float8": pa.array([1.5, float("nan"), float("-inf"), -0.0, None, 1], pa.float64()),
        "word": pa.array(["", "a", "straße", "日本語", None, "x" * 1000]),
        "octets": pa.array([b"", b"\x00", b"\xff", b"a", None, b"x"]),
        "flag": pa.array([True, False, True, False, None, True]),
        "dated": pa.array([datetime.date(2026, 1, 1), datetime.date(1, 1, 1), None, None, None, None]),
        "cents": pa.array([*cents, None], pa.decimal128(9, 2)),
        "price": pa.array([*cents, None], pa.decimal128(18, 2)),
        "total": pa.array([*cents, None], pa.decimal128(38, 2)),
    }
    right = {"eventtime": left["eventtime"], "k": left["k"], "id": pa.array(range(6))}
    for name, columns in (("l", left), ("r", right)):
        write_files(pa.table(columns), folder / name, 1)
