"""A join over a join, live: time passes from one to the other, so that lone rows of the first, which come out
five minutes and a delay after their event time, find their partners in the second. No delay is given."""

from __future__ import annotations

import threading

from dovetail.log.category import Category
from dovetail.service.figures import RunFigures
from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS = 6_000
PQL = """
    CREATE APPLICATION chain;
    CREATE INPUT TABLE l (eventtime, k, id, v)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE r (eventtime, k, id, v)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE x (eventtime, k, id, v)
        FROM FILES("{here}/x", format = "parquet", maxFilesPerTrigger = 1);
    CREATE VIEW pairs AS SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r
        FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '5 minutes';
    CREATE VIEW chained AS SELECT p.l AS l, p.r AS r, x.id AS x, p.t AS t FROM pairs AS p LEFT JOIN x
        ON p.k = x.k AND x.eventtime BETWEEN p.t - INTERVAL '1 minute' AND p.t + INTERVAL '1 minute';
    CREATE TABLE result AS SELECT l, r, x, t FROM chained STORAGE SCRIBE(category = "result");
"""
BATCH = """
    SELECT p.l, p.r, x.id AS x FROM (
        SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL 5 MINUTE) p
    LEFT JOIN x ON p.k = x.k AND x.eventtime BETWEEN p.t - INTERVAL 1 MINUTE AND p.t + INTERVAL 1 MINUTE
"""


def test_a_chain_is_as_exact_as_a_single_join(application: Application) -> None:
    tables = {name: events(ROWS, 400, seed) for name, seed in (("l", 41), ("r", 42), ("x", 43))}
    for name, table in tables.items():
        write_files(table, application.folder / name, 12)
    stop, seen = threading.Event(), []

    def look(now: RunFigures) -> None:
        """Until the second join has taken what nearly all of the first puts out while it is live."""
        seen.append(now.joins[-1].left_rows if len(now.joins) == 2 else 0)
        if seen[-1] > 0.8 * ROWS:
            stop.set()

    application.run(PQL, "stream", stop=stop, on_figures=look)
    home = Category.open(application.home, "chain.chained.left")
    assert seen[-1] > 0.8 * ROWS
    last = home.commit(home.next_commit() - 1)
    promised_us = last.promised("_time")
    assert promised_us is not None
    assert promised_us > 1_700_000_000_000_000, "nothing is promised"
    assert last.promised_by == "fixed"

    first, second = application.run(PQL, "drain").joins
    assert (first.late_rows, second.late_rows) == (0, 0)
    db = database(**tables, found=application.category("result"))
    assert count(db, "FROM found WHERE r IS NULL AND x IS NOT NULL") > ROWS / 20
    assert differences(db, "SELECT l, r, x FROM found", BATCH) == {}
    result = Category.open(application.home, "result")
    assert result.commit(result.next_commit() - 2).promises, "the result promises nothing to its readers"
