"""`dovetail diff`, `versions` and `rollback`, as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from commands import imported_by, run_command
from dovetail.changes.takeover import consider, take_over
from dovetail.changes.versions import version_path
from dovetail.log import document
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.pql.parser import parse
from dovetail.service.cli.run import compile_query

QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, x INT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, y INT) FROM SCRIBE("b");
CREATE VIEW v AS SELECT a.x AS x, b.y AS y FROM a LEFT JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
CREATE TABLE o AS SELECT x, y FROM v STORAGE NOOP;
"""
NARROWER = QUERY.replace("- INTERVAL '1 minute'", "- INTERVAL '30 seconds'")


@pytest.fixture
def home(tmp_path: Path) -> str:
    home = str(tmp_path / "home")
    types = {"t": pa.timestamp("us", "UTC"), "k": pa.int64(), "x": pa.int32(), "y": pa.int32()}
    for name in ("a", "b"):
        Category.create(home, name, pa.schema(types), buckets=1)
    change(home, QUERY)
    open_store(home).make_folder("apps/app/checkpoints/v")  # as a run would
    return home


def change(home: str, text: str) -> int:
    _, plans = compile_query((text, "app.pql"), home)
    return take_over(consider(home, plans, parse(text, name="app.pql")), {"v": 41})


def written(home: str, text: str) -> str:
    file = Path(home).parent / "new.pql"
    file.write_text(text)
    return str(file)


def test_diff_says_what_would_happen(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("diff", "app", written(home, NARROWER), "--home", home) == 0
    out = capsys.readouterr().out
    assert "new.pql: state kept\n" in out
    assert "window narrower: before was 1 minute, is now 30 seconds (state kept)" in out
    assert "new.pql:4:" in out
    assert run_command("diff", "app", written(home, QUERY + "-- the same"), "--home", home) == 0
    assert "no change in meaning" in capsys.readouterr().out


def test_diff_of_a_change_that_is_refused(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    zone = QUERY.replace("app;", 'app;\nSET TIME ZONE "Europe/Berlin";', 1)
    file = written(home, zone.replace("LEFT JOIN", "FULL JOIN"))
    assert run_command("diff", "app", file, "--home", home, "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["version"], said["verdict"]) == (1, "refused")
    refused = [change for change in said["changes"] if change["verdict"] == "refused"]
    assert {change["rule"] for change in refused} == {"application"}
    assert all(change["instead"] for change in refused)


def test_versions_are_listed_and_shown(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert change(home, NARROWER) == 2
    assert run_command("versions", "app", "--home", home) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("    1  ")
    assert first.endswith("first query")
    assert second.startswith("*   2  ")
    assert second.endswith("state kept (v after step 41)")
    assert run_command("versions", "app", "2", "--home", home) == 0
    out = capsys.readouterr().out
    assert "window narrower" in out
    assert "INTERVAL '30 seconds'" in out
    assert run_command("versions", "app", "--home", home, "--json") == 0
    assert [one["current"] for one in json.loads(capsys.readouterr().out)] == [False, True]


def test_a_damaged_version_is_named_and_the_others_are_listed(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(home, NARROWER)
    (Path(home) / version_path("app", 1)).write_text("{")
    assert run_command("versions", "app", "--home", home) == 0
    said = capsys.readouterr()
    assert said.out.startswith("*   2")
    assert "versions/1.json" in said.err


def test_a_version_that_was_killed_before_it_counted_is_told_from_those_that_ran(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when others have come after it: it is the parent of none."""
    path = Path(home) / "apps/app/application.json"
    before = path.read_bytes()
    assert change(home, NARROWER) == 2
    path.write_bytes(before)  # killed before it was named
    assert run_command("versions", "app", "--home", home) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("(never took over)")
    assert change(home, QUERY.replace("LEFT JOIN", "JOIN")) == 3
    assert change(home, NARROWER.replace("LEFT JOIN", "JOIN")) == 4
    assert run_command("versions", "app", "--home", home) == 0
    ends = [line.rpartition("(")[2] for line in capsys.readouterr().out.splitlines()]
    assert ends[1:] == ["never took over)", "v after step 41)", "v after step 41)"]
    assert run_command("versions", "app", "2", "--home", home) == 0
    assert "(never took over)" in capsys.readouterr().out.splitlines()[0]
    assert run_command("versions", "app", "3", "--home", home) == 0
    assert "never took over" not in capsys.readouterr().out
    assert run_command("versions", "app", "--home", home, "--json") == 0
    assert [one["counted"] for one in json.loads(capsys.readouterr().out)] == [True, False, True, True]


def test_what_counted_before_a_damaged_version_is_not_known(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(home, NARROWER)
    change(home, QUERY)
    change(home, NARROWER)
    (Path(home) / version_path("app", 3)).write_text("{")
    assert run_command("versions", "app", "--home", home) == 0
    assert "never took over" not in capsys.readouterr().out
    assert run_command("versions", "app", "--home", home, "--json") == 0
    assert [one["counted"] for one in json.loads(capsys.readouterr().out)] == [True, None, True]


def contents(home: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(home).rglob("*") if path.is_file()}


@pytest.mark.parametrize("later", [False, True], ids=["damaged", "of a later release"])
def test_rolling_back_to_a_version_that_cannot_be_read_changes_nothing(
    home: str, later: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    change(home, NARROWER)
    path = Path(home) / version_path("app", 1)
    said = json.loads(path.read_bytes())
    path.write_bytes(document.encode(said["format"], 99, said["body"]) if later else path.read_bytes()[:-20])
    before = contents(home)
    assert run_command("rollback", "app", "1", "--home", home) == 1
    error = capsys.readouterr().err
    assert "versions/1.json" in error
    assert ("the release of Dovetail that wrote it" if later else "restore it from a copy") in error
    assert contents(home) == before
    assert run_command("diff", "app", written(home, QUERY), "--home", home) == 0, "nothing else needs it"
    assert "window wider" in capsys.readouterr().out


def test_an_older_release_says_that_a_newer_one_has_changed_the_application(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A home that two releases share: the older one does not know the plan, and leaves it alone."""
    path = Path(home) / "apps/app/application.json"
    said = json.loads(path.read_bytes())
    path.write_bytes(document.encode(said["format"], said["version"] + 1, said["body"]))
    before = contents(home)
    file = written(home, NARROWER)
    for command in (["run", file], ["diff", "app", file], ["versions", "app"], ["rollback", "app"]):
        assert run_command(*command, "--home", home) == 1
        error = capsys.readouterr().err
        assert "application.json" in error
        assert "the release of Dovetail that wrote it, or a newer one" in error
    assert contents(home) == before


def test_there_is_nothing_to_roll_back_to(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("rollback", "app", "--home", home) == 1
    assert "has had only one query" in capsys.readouterr().err
    assert run_command("rollback", "app", "7", "--home", home) == 1
    assert "has no version 7" in capsys.readouterr().err


def test_diff_needs_no_kernels(home: str) -> None:
    assert imported_by(["diff", "app", written(home, NARROWER), "--home", home], ["numba"]) == []
