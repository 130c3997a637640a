"""A stream that stops: outer rows of the other wait for it no longer than the idle timeout and their
window."""

from __future__ import annotations

import threading

import pytest

from dovetail.service.figures import RunFigures
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs

ROWS = 10_000
PQL = pairs("LEFT", "pacing = \"%s\", idle_timeout = INTERVAL '2 seconds'", left_files=2)


@pytest.mark.parametrize("pacing", ["on", "off"] if THOROUGH else ["on"])
def test_windows_close_although_the_other_stream_has_stopped(application: Application, pacing: str) -> None:
    """Right ends after a tenth of the hour. Most left rows of the hour come out while the join runs."""
    left, right = events(ROWS, 1000, 31), events(ROWS, 1000, 32).slice(0, ROWS // 10)
    write_files(left, application.folder / "l", 6)
    write_files(right, application.folder / "r", 1)
    stop, alone = threading.Event(), []

    def look(now: RunFigures) -> None:
        alone.append(now.joins[0].left_alone if now.joins else 0)
        if alone[-1] > 0.75 * ROWS:
            stop.set()

    application.run(PQL % pacing, "stream", stop=stop, on_figures=look)
    assert alone[-1] > 0.75 * ROWS
    (join,) = application.run(PQL % pacing, "drain").joins
    assert join.late_rows == 0
    db = database(l=left, r=right, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("left", "l.id, r.id", ON)) == {}
