"""A sink that fails, or a run that dies between writing and committing: it is reported, and after the next
start every row is there once."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from dovetail.errors import DovetailError, HomeError, InputError, StateError
from dovetail.log.category import Category
from dovetail.log.limits import Limits
from dovetail.service.committed_files import committed_files
from dovetail.slicing import sides
from laws.effort import in_full
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs

ROWS = 2000
LEFT, RIGHT = events(ROWS, 200, 61), events(ROWS, 200, 62)
EXPECTED = join_sql("left", "l.id, r.id", ON)
PQL = pairs("LEFT", storage="%s")
PARQUET = PQL % 'PARQUET(path = "{here}/out")'
LOG = PQL % 'SCRIBE(category = "out", keep = INTERVAL 3 DAYS, keep_bytes = 1000000000)'


def feed(application: Application, part: int) -> None:
    for name, table in (("l", LEFT), ("r", RIGHT)):
        write_files(table.slice(part * ROWS // 2, ROWS // 2), application.folder / name, 1, first=part)


def assert_every_row_once(found: object) -> None:
    db = database(l=LEFT, r=RIGHT, found=found)  # type: ignore[arg-type]
    assert differences(db, "FROM found", EXPECTED) == {}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_log_sink_that_fails(application: Application, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Before its rows are committed, or after: then Spark does not know, and runs the batch again."""
    append = sides.append_written

    def fails(category: Category, *arguments: object) -> None:
        if category.name != "out" or when == "after":
            append(category, *arguments)  # type: ignore[arg-type]
        if category.name == "out":
            raise HomeError("the sink is out of order", where="the sink")

    feed(application, 0)
    with monkeypatch.context() as patch:
        patch.setattr(sides, "append_written", fails)
        with pytest.raises(HomeError, match="out of order"):
            application.run(LOG, "available-now")
    assert (
        application.category("out").num_rows == 0
        if when == "before"
        else application.category("out").num_rows
    )
    feed(application, 1)
    application.run(LOG)
    assert_every_row_once(application.category("out"))
    limits = Category.open(application.home, "out").limits()
    assert limits == Limits(3 * 86_400_000_000, 10**9), "as the query says"


def test_a_folder_that_is_in_the_way_and_files_that_no_commit_names(application: Application) -> None:
    """A Parquet sink that cannot write; then a run that died after writing the files of a batch, before
    Spark's log named them, and so before the batch was done."""
    out = application.folder / "out"
    feed(application, 0)
    application.run(PARQUET, "available-now")
    aside = out.rename(application.folder / "aside")
    out.write_text("in the way")
    feed(application, 1)
    with pytest.raises(DovetailError) as said:
        application.run(PARQUET, "available-now")
    assert "org.apache" not in str(said.value)
    out.unlink()
    aside.rename(out)
    application.run(PARQUET)
    assert_every_row_once(committed_files(out))

    lost = committed_files(out)
    checkpoint = Path(application.home, "apps/app/checkpoints/pairs")
    last = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    named = out / "_spark_metadata" / str(last)
    assert named.exists()
    for file in (named, named.with_name(f".{last}.crc"), checkpoint / "commits" / str(last)):
        file.unlink(missing_ok=True)
    (checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
    assert len(committed_files(out)) < len(lost)
    application.run(PARQUET)
    assert_every_row_once(committed_files(out))
    on_disk = [str(path) for path in out.glob("*.parquet")]
    assert len(on_disk) > len(committed_files(out)), "files of the batch that died are still there"
    assert application.spark.read.parquet(str(out)).count() == sum(
        1 for _ in database(found=committed_files(out)).execute("FROM found").fetchall()
    )

    other = Application(application.folder / "elsewhere", application.spark)
    feed(other, 0)
    with pytest.raises(StateError, match="written by another application, or from another home"):
        other.run(PARQUET.replace("{here}/out", str(out)))


@in_full
def test_spark_goes_on_from_lists_of_merged_files(application: Application) -> None:
    """Two tables: Spark writes the files of one, and tasks of the join those of the other. Whole lists are
    made after every other batch, and the second run makes them from what the first one has merged."""
    often = "spark.sql.streaming.fileSink.log.compactInterval"
    query = pairs(
        "LEFT",
        "max_step_rows = 300",
        select="l.id AS l, r.id AS r, CAST(l.id % 3 AS INT) AS part",
        storage='JSON(path = "{here}/json", merge_every = 1) PARTITIONED BY (part)',
    )
    application.spark.conf.set(often, "2")
    try:
        for part, mode in enumerate(("available-now", "drain")):
            feed(application, part)
            application.run(query, mode)  # type: ignore[arg-type]
            merged = {path for path in application.files("json") if re.search("part-00000-[^.]*-c000", path)}
            found = application.spark.read.json(str(application.folder / "json"))
            assert merged, "files of the first batches are one"
            assert found.count() == sum(
                len(Path(p).read_text().splitlines()) for p in application.files("json")
            )
        rows = pa.Table.from_pylist([row.asDict() for row in found.select("l", "r").collect()])
        assert_every_row_once(rows)
    finally:
        application.spark.conf.unset(often)


def test_what_is_no_output_of_a_stream(tmp_path: Path) -> None:
    assert committed_files(tmp_path) == []
    assert committed_files(tmp_path / "nothing") == []
    (tmp_path / "part.parquet").touch()
    with pytest.raises(InputError, match="not the output"):
        dovetail.committed_files(tmp_path)


@pytest.mark.parametrize("fails", ["before", "after"])
def test_a_batch_function_into_a_database_that_fails(application: Application, fails: str) -> None:
    """The pattern of docs/how-to/sinks.md: the number of the batch is committed with its rows."""
    for part in (0, 1):
        feed(application, part)
    streams = [
        application.spark.readStream.schema("eventtime timestamp, k long, id long").parquet(
            str(application.folder / name)
        )
        for name in ("l", "r")
    ]
    times = {"left_time": "eventtime", "right_time": "eventtime"}
    bounds = {"before": "2 minutes", "after": "3 minutes", "max_step_rows": 1000}
    joined = dovetail.join(
        *streams, "k", how="left", name="db", home=application.home, mode="drain", **times, **bounds
    )
    failures = [RuntimeError("the database has gone away")]

    def into_database(rows, batch: int) -> None:
        with sqlite3.connect(application.folder / "db") as db:
            db.execute("CREATE TABLE IF NOT EXISTS pairs (l, r)")
            db.execute("CREATE TABLE IF NOT EXISTS batches (query, batch, PRIMARY KEY (query, batch))")
            if db.execute("SELECT 1 FROM batches WHERE query = 'pairs' AND batch = ?", (batch,)).fetchone():
                return
            db.execute("INSERT INTO batches VALUES ('pairs', ?)", (batch,))
            db.executemany("INSERT INTO pairs VALUES (?, ?)", [tuple(row) for row in rows.collect()])
            if failures and fails == "before":
                raise failures.pop()
        if failures:
            raise failures.pop()

    def run() -> None:
        writer = joined.select("id", "id_right").writeStream.foreachBatch(into_database)
        writer = writer.option("checkpointLocation", str(application.folder / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(Exception, match="the database has gone away"):
        run()
    run()
    with sqlite3.connect(application.folder / "db") as db:
        found = db.execute("SELECT l, r FROM pairs").fetchall()
    wanted = database(l=LEFT, r=RIGHT).execute(EXPECTED).fetchall()
    assert sorted(found, key=str) == sorted(wanted, key=str)
