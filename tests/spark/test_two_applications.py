"""Two applications through a category: the lower one inherits the time of the upper one, which is stopped,
started again with another number of tasks, changed in what it computes and lets through, and removed."""

from __future__ import annotations

from pathlib import Path

from dovetail.changes.versions import version_numbers
from dovetail.log.category import Category
from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS = 4_000
CHANGED = 2
UPPER = """
    CREATE APPLICATION upper;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r FROM l LEFT JOIN r
        ON l.k = r.k AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '5 minutes'
        WITH (tasks = TASKS);
    CREATE TABLE out AS SELECT t, k, COLUMNSl, r FROM pairs FILTER STORAGE SCRIBE(category = "pairs");
"""
LOWER = """
    CREATE APPLICATION lower;
    CREATE INPUT TABLE p (t TIMESTAMP, k BIGINT, l BIGINT, r BIGINT) FROM SCRIBE("pairs");
    CREATE INPUT TABLE x (eventtime, k, id, v) FROM FILES("{here}/x", format = "parquet");
    CREATE VIEW chained AS SELECT p.l AS l, p.r AS r, x.id AS x FROM p LEFT JOIN x
        ON p.k = x.k AND x.eventtime BETWEEN p.t - INTERVAL '1 minute' AND p.t + INTERVAL '1 minute';
    CREATE TABLE result AS SELECT l, r, x FROM chained STORAGE SCRIBE(category = "result");
"""
BATCH = """
    SELECT p.l, p.r, x.id AS x FROM (
        SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL 5 MINUTE) p
    LEFT JOIN x ON p.k = x.k AND x.eventtime BETWEEN p.t - INTERVAL 1 MINUTE AND p.t + INTERVAL 1 MINUTE
    WHERE {passes} OR EXISTS (FROM before b WHERE b.l = p.l AND b.r IS NOT DISTINCT FROM p.r)
"""
PASSES = "COALESCE(l + r, 1) % 5 <> 0"


def upper(part: int) -> str:
    """In the end its table has one more column, in the middle, and no longer every row."""
    columns, where = ("", "") if part < CHANGED else ("k + 1 AS more, ", f"WHERE {PASSES}")
    text = UPPER.replace("COLUMNS", columns).replace("FILTER", where)
    return text.replace("TASKS", "2" if part == 1 else "1")


def test_time_passes_between_applications(application: Application) -> None:
    tables = {name: events(ROWS, 300, seed) for name, seed in (("l", 61), ("r", 62), ("x", 63))}
    parts = 3
    for part in range(parts):
        for name, table in tables.items():
            rows = table.slice(part * ROWS // parts, (part + 1) * ROWS // parts - part * ROWS // parts)
            write_files(rows, application.folder / name, 1, first=part)
        if part == CHANGED:
            before = application.category("pairs")
        # The upper application has stopped each time that the lower one runs, and starts again after it.
        application.run(upper(part), "available-now")
        (joined,) = application.run(LOWER, "available-now").joins
        assert joined.late_rows == 0
    assert version_numbers(application.home, "upper") == [1, 2, 3]
    application.run(upper(parts), "drain")
    # What it wrote and promised stays in the log. A copy into its folder may still be under way.
    (Path(application.home) / "apps" / "upper").rename(application.folder / "removed")
    (joined,) = application.run(LOWER, "drain").joins
    assert joined.late_rows == 0
    db = database(**tables, before=before, found=application.category("result"))
    assert count(db, "FROM found WHERE r IS NULL AND x IS NOT NULL") > ROWS / 50
    passes = PASSES.replace("l +", "p.l +").replace("r,", "p.r,")
    assert differences(db, "FROM found", BATCH.format(passes=passes)) == {}
    all_pairs = count(db, f"FROM ({BATCH.format(passes=True)})")
    assert all_pairs - count(db, "FROM found") > ROWS / 50, "rows are left out since the change"
    assert count(db, f"FROM before WHERE NOT ({PASSES})") > ROWS / 50, "and stay where they were before it"
    pairs = Category.open(application.home, "pairs")
    promised = [pairs.commit(n).promised("t") for n in range(pairs.first_commit(), pairs.next_commit())]
    assert None not in promised
    side = Category.open(application.home, "lower.chained.left")
    assert side.commit(side.next_commit() - 1).promised("_time") is not None
