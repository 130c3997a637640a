"""A Python process of Spark's that is killed costs a retry on a local master, and no row."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from dovetail.crash_points import FILE_VARIABLE
from spark.application import category_rows
from spark.command_line import assert_no_trace, command, environment
from spark.events import events, write_files

QUERY = """
CREATE APPLICATION killed;
CREATE INPUT TABLE l (eventtime, k, id) FROM FILES("l", format = "parquet");
CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("r", format = "parquet");
CREATE VIEW pairs AS SELECT l.id AS left_id, r.id AS right_id FROM l JOIN r ON l.k = r.k
    AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 hours' AND l.eventtime + INTERVAL '2 hours'
    WITH (buckets = 2);
CREATE TABLE joined AS SELECT * FROM pairs STORAGE SCRIBE(category = "joined");
"""
POINTS = ("segment.named", "coordinator.planned", "snapshot.named")
"""In a task of a slicer, in the process that plans the join, in a task of the join."""


def test_one_of_each_kind_is_killed(tmp_path: Path) -> None:
    for side in ("l", "r"):
        write_files(events(60, 1, 5, nulls=0), tmp_path / side, 1)
    (tmp_path / "app.pql").write_text(QUERY)
    crash = tmp_path / "crash"
    waiting = list(POINTS)
    with open(tmp_path / "said", "wb") as said:
        process = subprocess.Popen(
            command("run", "app.pql", "--drain", "--home", "home", "--master", "local[2]"),
            cwd=tmp_path,
            env=environment() | {FILE_VARIABLE: str(crash), "DOVETAIL_SLICING": "spark"},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        while process.poll() is None:
            if waiting and not crash.exists():
                crash.write_text(waiting.pop(0))
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
    finally:
        process.kill()
        process.wait()
    text = (tmp_path / "said").read_text()
    assert process.returncode == 0, text
    assert_no_trace(text)
    assert not waiting
    assert not crash.exists(), f"nobody was killed at {crash.read_text()}"
    assert category_rows(str(tmp_path / "home"), "joined").num_rows == 3600
