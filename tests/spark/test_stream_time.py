"""Estimated stream time through the whole of Spark: windows close while the streams run, nothing is lost by a
restart."""

from __future__ import annotations

from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import events, write_files

ROWS = 20_000
ON = "l.k = r.k AND r.eventtime BETWEEN l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 3 MINUTE"
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = "1");
    CREATE INPUT TABLE r (eventtime, k, id)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = "1");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (stream_time = "percentile", percentile = 0, sample_rows = 500, ascending = 2);
    CREATE TABLE t AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/out");
"""


def test_estimated_time(application: Application) -> None:
    """Percentile 0 is the smallest time of a window: with rows in order nothing is late."""
    tables = {"l": events(ROWS, 2000, 71), "r": events(ROWS, 2000, 72)}
    tables = {name: table.sort_by("eventtime") for name, table in tables.items()}
    for name, table in tables.items():
        write_files(table.slice(0, ROWS // 2), application.folder / name, 5)
    (first,) = application.run(PQL, "available-now").joins
    assert first.left_alone + first.right_alone > 0, "no window has closed"
    assert first.left_estimate is not None
    assert first.left_estimate.accuracy == 1.0
    for name, table in tables.items():
        write_files(table.slice(ROWS // 2), application.folder / name, 5, first=5)
    (last,) = application.run(PQL, "drain").joins
    assert last.late_rows == 0
    db = database(**tables, found=application.files("out"))
    expected = join_sql("full", "l.id, r.id", ON)
    assert count(db, expected) > ROWS
    assert differences(db, "FROM found", expected) == {}
