"""Estimated stream time through the whole of Spark: windows close while the streams run, nothing is lost by a
restart."""

from __future__ import annotations

import threading
from itertools import pairwise

from dovetail.engine.step_log import StepLog
from dovetail.service.figures import JoinFigures, RunFigures
from spark.application import Application
from spark.batch import ON, count, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs

ROWS = 20_000
PQL = pairs(
    "FULL",
    'stream_time = "percentile", percentile = 0, sample_rows = 500, ascending = 2',
    left_files=1,
    right_files=1,
)


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
    agree(application, last)
    db = database(**tables, found=application.files("out"))
    expected = join_sql("full", "l.id, r.id", ON)
    assert count(db, expected) > ROWS
    assert differences(db, "FROM found", expected) == {}


def agree(application: Application, summary: JoinFigures) -> None:
    """Every step of both runs is on record, and the records say what the summary says."""
    records = StepLog(application.home, f"apps/app/state/{summary.name}").read()
    assert [record.step for record in records] == list(range(1, len(records) + 1))
    assert [record.ended for record in records] == [False] * (len(records) - 1) + [True]
    for side, rows, estimate in (
        ("left", summary.left_rows, summary.left_estimate),
        ("right", summary.right_rows, summary.right_estimate),
    ):
        steps = [getattr(record, side) for record in records]
        assert sum(step.rows for step in steps) == rows
        assert all(earlier.stop == later.start for earlier, later in pairwise(steps))
        assert steps[-1].backlog_commits == 0
        taken = [commit for step in steps for commit in step.taken]
        assert [commit.commit for commit in taken] == list(range(steps[-1].stop))
        assert estimate is not None
        assert (taken[-1].window, taken[-1].accuracy) == (estimate.window, estimate.accuracy)
        assert taken[-1].behind_us is not None
        assert taken[-1].behind_us > 0


def test_a_stream_that_is_ahead_waits(application: Application) -> None:
    """Left stands still at first: right is read as far as its window and the slack reach, and no further."""
    tables = {"l": events(ROWS, 2000, 73), "r": events(ROWS, 2000, 74)}
    tables = {name: table.sort_by("eventtime") for name, table in tables.items()}
    write_files(tables["l"].slice(0, ROWS // 10), application.folder / "l", 1)
    write_files(tables["r"], application.folder / "r", 20)
    pql = PQL.replace(
        'stream_time = "percentile", percentile = 0, sample_rows = 500, ascending = 2',
        "max_delay = INTERVAL '1 second', pacing = \"on\", idle_timeout = INTERVAL '1 hour'",
    )
    stop, fed = threading.Event(), threading.Event()
    waiting: list[int] = []

    def feed_while_right_waits(now: RunFigures) -> None:
        left, right = now.streams or (None, None)
        if left is None or right is None or right.rows_in < ROWS:
            return
        if left.rows_in < ROWS and left.backlog_rows == 0 and now.joins[0].retained_rows and not fed.is_set():
            waiting.append(right.backlog_rows)
            if len(waiting) >= 6 and len(set(waiting[-4:])) == 1:
                fed.set()
                write_files(tables["l"].slice(ROWS // 10), application.folder / "l", 9, first=1)
        elif left.rows_in == ROWS and left.backlog_rows + right.backlog_rows == 0:
            stop.set()

    application.run(pql, "stream", stop=stop, on_figures=feed_while_right_waits)
    assert waiting[-1] > ROWS // 4
    records = StepLog(application.home, "apps/app/state/pairs").read()
    assert any(record.right.paused and record.right.backlog_us for record in records)
    (last,) = application.run(pql, "drain").joins
    assert last.late_rows == 0
    db = database(**tables, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("full", "l.id, r.id", ON)) == {}
