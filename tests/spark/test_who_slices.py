"""Law: whoever slices an input, a query of Spark or a thread of the run, each row enters the log once, also
where one takes over from the other."""

from __future__ import annotations

import json

import pytest

from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.spark.file_frames import files_read
from dovetail.spark.seeding import as_uri
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files

ROWS = 4_000
WINDOW = "r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'"
PQL = f"""
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v BIGINT) FROM SCRIBE("r");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l JOIN r ON l.k = r.k AND {WINDOW};
    CREATE TABLE result AS SELECT * FROM pairs STORAGE SCRIBE(category = "out");
"""


def feed(application: Application, part: int) -> None:
    for name, seed in (("l", 1), ("r", 2)):
        rows = events(ROWS, 400, seed).slice(part * ROWS // 4, ROWS // 4)
        write_files(rows, application.folder / name, 1, first=part)
        if name == "r":
            [*_, newest] = find_files([str(application.folder / name)])
            append_file(application.home, "r", newest)


def covered(application: Application, category: str) -> list[bool]:
    """Which commits say what they cover: those of a thread."""
    found = Category.open(application.home, category)
    return [commit.covers is not None for commit in found.commits(0, found.next_commit())]


def test_threads_and_queries_take_over_from_each_other(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = ("spark", "resident", "spark", "auto")
    for part, slicing in enumerate(ways):
        feed(application, part)
        monkeypatch.setenv("DOVETAIL_SLICING", slicing)
        application.run(PQL, "drain" if part == len(ways) - 1 else "available-now")
    for side in ("app.pairs.left", "app.pairs.right"):
        assert covered(application, side) == [False, True, False, True]
    db = database(l=events(ROWS, 400, 1), r=events(ROWS, 400, 2), found=application.category("out"))
    assert differences(db, "FROM found", join_sql("inner", "l.id, r.id", ON)) == {}


def test_a_change_that_only_spark_can_compute(application: Application) -> None:
    """And back again: nobody has to know who slices."""
    needs_spark = PQL.replace("l.id AS l,", "l.id AS l, sha2(CAST(l.v AS STRING), 256) AS digest,")
    for part, query in enumerate((PQL, needs_spark, PQL, needs_spark)):
        feed(application, part)
        application.run(query, "drain" if part == 3 else "available-now")
    assert covered(application, "app.pairs.left") == [True, False, True, False]
    db = database(l=events(ROWS, 400, 1), r=events(ROWS, 400, 2), found=application.category("out"))
    assert differences(db, "SELECT l, r FROM found", join_sql("inner", "l.id, r.id", ON)) == {}


def test_files_are_called_what_spark_calls_them(application: Application) -> None:
    """Or it would read once more what a thread has read."""
    folder = application.folder / "a b%20c" / "x+y&z,;@$!'()*~"
    folder.mkdir(parents=True)
    names = ("day=2026-11-17", "größe", "[1]{2}#?", 'q"<>^`|')
    for name in names:
        (folder / name).write_text("text")
    checkpoint = application.folder / "checkpoint"
    rows = application.spark.readStream.text(str(folder)).writeStream.format("noop")
    rows.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    lines = (checkpoint / "sources/0/0").read_text().splitlines()[1:]
    assert {json.loads(line)["path"] for line in lines} == {as_uri(str(folder / name)) for name in names}


def test_which_dataframes_are_files_and_no_more(application: Application) -> None:
    schema = "eventtime timestamp, k long, id long"
    read = application.spark.readStream.schema(schema).parquet(str(application.folder))
    renamed = (
        read.withWatermark("eventtime", "1 minute").alias("x").selectExpr("id AS a", "x.eventtime", "id")
    )
    found = files_read(renamed.select("a", "eventtime"))
    assert found is not None
    assert found.columns == {"a": "id", "eventtime": "eventtime"}
    assert (found.place, found.format) == (str(application.folder), "parquet")
    for other in (
        read.where("id > 1"),
        read.selectExpr("id + 1 AS id"),
        read.union(read),
        read.distinct(),
        application.spark.readStream.format("rate").load(),
    ):
        assert files_read(other) is None
