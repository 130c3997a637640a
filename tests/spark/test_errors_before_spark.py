"""What is wrong with the query, the home or the inputs is reported at once if it shows without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark.command_line import assert_reported, run
from spark.events import events, write_files

PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id) FROM FILES("l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '1 minute' AND l.eventtime + INTERVAL '1 minute';
    CREATE TABLE t AS SELECT * FROM pairs STORAGE SCRIBE(category = "t");
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for side in ("l", "r"):
        write_files(events(100, 10, 1), tmp_path / side, 1)
    (tmp_path / "app.pql").write_text(PQL)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("CREATE VIEW pairs AS SELECT", "CREATE VIEW pairs SELECT"), ("app.pql:5", "AS")),
        (("l.id AS l", "l.idd AS l"), ("idd", "app.pql:5")),
        (('FILES("l", format = "parquet")', 'SCRIBE("nothing_here")'), ("nothing_here", "log append")),
        (('FILES("l"', 'FILES("missing"'), ("does not exist", "missing")),
        (('FILES("l"', 'FILES("empty"'), ("no files", "empty")),
    ],
    ids=["malformed", "unknown column", "unknown category", "missing directory", "empty directory"],
)
def test_an_error_in_the_query_or_its_inputs(
    folder: Path, change: tuple[str, str], words: tuple[str, ...]
) -> None:
    (folder / "empty").mkdir()
    (folder / "app.pql").write_text(PQL.replace(*change))
    assert_reported(run("run", "app.pql", "--drain", folder=folder), *words)


def test_files_and_homes_that_cannot_be_used(folder: Path) -> None:
    assert_reported(run("run", "nowhere.pql", folder=folder), "nowhere.pql")
    (folder / "file").write_text("not a directory")
    assert_reported(run("run", "app.pql", "--home", "file", folder=folder), "home", str(folder / "file"))
    (folder / "l" / "part-00000.parquet").write_bytes(b"PAR1 this is not Parquet")
    assert_reported(run("run", "app.pql", "--drain", folder=folder), "part-00000.parquet", "Parquet")


def test_an_error_as_json(folder: Path) -> None:
    done = run("run", "nowhere.pql", "--json", folder=folder)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["condition"] == "INPUT_INVALID"
    assert "nowhere.pql" in error["where"]
    assert "Traceback" not in done.stderr
