"""`dovetail advise`: what it prints, and what it writes into the query."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from commands import run_command
from dovetail.changes.versions import Version, write_version
from dovetail.engine.copying import settle
from previewing import Running, join

ROWS = 1200
QUERY = join(10, 2)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Running:
    """Each left row has a right row, up to fourteen seconds before it: a quarter of them are missed."""
    made = Running(str(tmp_path_factory.mktemp("home")), QUERY)
    version = Version("app", 1, None, made.plan, QUERY, "ada", 1)
    assert write_version(made.home, version)
    for first in range(0, ROWS, 200):
        numbers = range(first, first + 200)
        left = [(n, 5 * n, n) for n in numbers]
        right = [(n, 5 * n - n % 15, n) for n in numbers]
        made.play([(left, right)])
    settle()
    return made


def test_advice_is_listed(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("advise", "app", "--home", app.home) == 0
    out = capsys.readouterr().out
    assert "join v: widen before to about" in out
    assert "advise app --apply" in out
    assert run_command("advise", "app", "--home", app.home, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["bound"] for one in said["advice"] if one.get("matches", 0) > 0] == ["before"]


def test_who_says_no_changes_nothing(
    app: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.pql"
    file.write_text(QUERY)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    number = _widening(app, capsys)
    done = run_command("advise", "app", "--apply", "--file", str(file), "--only", number, "--home", app.home)
    assert done == 1
    out = capsys.readouterr().out
    assert file.read_text() == QUERY
    assert "-  AND b.t BETWEEN a.t - INTERVAL '10 seconds' AND a.t + INTERVAL '2 seconds'" in out
    assert "+  AND b.t BETWEEN a.t - INTERVAL '1" in out
    assert "window wider" in out
    assert any(line.split()[:2] == ["changed", "320"] for line in out.splitlines()), out


def _widening(app: Running, capsys: pytest.CaptureFixture[str]) -> str:
    run_command("advise", "app", "--home", app.home, "--json")
    said = json.loads(capsys.readouterr().out)["advice"]
    return str(next(one["number"] for one in said if one.get("matches", 0) > 0))


def test_another_file_is_refused(app: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.pql"
    file.write_text(join(3, 2))
    done = run_command("advise", "app", "--apply", "--file", str(file), "--yes", "--home", app.home)
    assert done == 1
    assert "is not the query that app runs" in capsys.readouterr().err


def test_advice_that_is_not_there(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("advise", "app", "--apply", "--only", "9", "--yes", "--home", app.home) == 1
    assert "there is no advice 9" in capsys.readouterr().err


def test_a_setting_is_written_into_the_query(
    app: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command("advise", "app", "--home", app.home, "--json")
    said = json.loads(capsys.readouterr().out)["advice"]
    chosen = next(one for one in said if one.get("option") == "left_max_delay")
    file = tmp_path / "app.pql"
    file.write_text(QUERY)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    given = "--apply", "--file", str(file), "--only", str(chosen["number"]), "--home", app.home
    assert run_command("advise", "app", *given) == 1
    out = capsys.readouterr().out
    assert "WITH (left_max_delay = INTERVAL '1 second', max_delay" in out, out
    assert file.read_text() == QUERY, "who says no changes nothing"
