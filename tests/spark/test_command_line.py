"""The whole life of an application through the real command, each run in a process of its own: work off,
damage, repair, stream, a second run at the same time, a stop by signal, drain."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from dovetail.service.committed_files import committed_files
from spark.batch import ON, count, database, differences, join_sql
from spark.command_line import assert_no_trace, assert_reported, command, environment, run
from spark.events import events, write_files

ROWS = 4000
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id) FROM SCRIBE("l");
    CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE t AS SELECT * FROM pairs STORAGE PARQUET(path = "out");
    CREATE TABLE shown AS SELECT l, r FROM pairs STORAGE CONSOLE;
"""


def feed(folder: Path, part: int) -> None:
    for name, seed in (("l", 51), ("r", 52)):
        table = events(ROWS, 300, seed).slice(part * ROWS // 2, ROWS // 2)
        write_files(table, folder / name, 1, first=part)
    done = run("log", "append", "l", f"l/part-{part:05d}.parquet", folder=folder)
    assert done.returncode == 0, done.stderr


def summary(done: subprocess.CompletedProcess[str]) -> Any:
    """What `--json` prints, below the rows of the table that is shown."""
    return json.loads(done.stdout.splitlines()[-1])


def test_the_life_of_an_application(tmp_path: Path) -> None:
    (tmp_path / "app.pql").write_text(PQL)
    feed(tmp_path, 0)
    first = run("run", "app.pql", "--available-now", "--json", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert summary(first)["joins"][0]["left_rows"] == ROWS // 2
    assert_no_trace(first.stderr)

    feed(tmp_path, 1)
    segment = max((tmp_path / ".dovetail/log/l/segments").glob("*"), key=lambda path: path.stat().st_mtime)
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) // 2])
    damaged = run("run", "app.pql", "--drain", "--json", folder=tmp_path)
    assert damaged.returncode == 1
    said = summary(damaged)["error"]
    assert segment.name in said["where"]
    assert said["hint"]
    assert_no_trace(damaged.stderr)
    segment.write_bytes(whole)

    shown = tmp_path / "shown"  # a pipe that nobody reads would hold the run up when it is full
    with (
        shown.open("w") as out,
        subprocess.Popen(
            command("run", "app.pql"),
            cwd=tmp_path,
            env=environment(),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        ) as stream,
    ):
        joining = threading.Event()
        lines: list[str] = []

        def read() -> None:
            assert stream.stderr is not None
            for line in stream.stderr:
                lines.append(line)
                if " joining " in line:
                    joining.set()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            assert joining.wait(300), lines
            assert_reported(run("run", "app.pql", folder=tmp_path), "running already", "stop the other run")
        finally:
            stream.send_signal(signal.SIGTERM)
            reader.join(300)
        assert stream.wait(300) == 0, lines
        assert_no_trace("".join(lines) + shown.read_text())

    last = run("run", "app.pql", "--drain", folder=tmp_path)
    assert last.returncode == 0, last.stderr
    assert_no_trace(last.stdout + last.stderr)
    assert "|l " in last.stdout.replace("+", "|")
    assert sum(line.startswith("|") and line.endswith("|") for line in last.stdout.splitlines()) > 10
    files = committed_files(tmp_path / "out")
    db = database(l=events(ROWS, 300, 51), r=events(ROWS, 300, 52), found=files)
    expected = join_sql("full", "l.id, r.id", ON)
    assert count(db, expected) > ROWS
    assert differences(db, "FROM found", expected) == {}
