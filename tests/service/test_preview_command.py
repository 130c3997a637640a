"""`dovetail preview`, as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import run_command
from previewing import Running, join


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Running:
    made = Running(str(tmp_path_factory.mktemp("home")), join(5, 5))
    made.play([([(n % 3, 10 * n, n)], [(n % 3, 10 * n - 8, n)]) for n in range(8)])
    return made


def written(app: Running, text: str) -> str:
    file = Path(app.home).parent / "new.pql"
    file.write_text(text)
    return str(file)


def test_rows_that_change_are_counted_and_shown(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(app, join(9, 5))
    assert run_command("preview", file, "--home", app.home, "--samples", "1") == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith(f"app, version 1, with {file}: state kept")
    assert ["rows", "8", "->", "8"] in lines
    assert ["changed", "8"] in lines
    assert ["match", "rate", "0.00", "%", "->", "100.00", "%"] in lines
    assert "was l = 0, r = null" in out
    assert "now l = 0, r = 0" in out


def test_programs_get_json(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(app, join(9, 5))
    assert run_command("preview", file, "--since", "30 seconds", "--home", app.home, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["application"] == "app"
    assert said["tables"][0]["difference"]["changed"] == 4
    assert said["until_us"] - said["since_us"] == 30_000_000
    assert said["new"]["joins"]["v"]["match_rate"] == 1.0


@pytest.mark.parametrize("since", ["soon", "0 hours", "-1 hour"])
def test_a_time_that_is_none(app: Running, since: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("preview", written(app, join(9, 5)), "--since", since, "--home", app.home) == 1
    assert "a length of time such as '2 hours'" in capsys.readouterr().err


def test_an_application_that_is_not_there(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(app, join(9, 5).replace("APPLICATION app", "APPLICATION other"))
    assert run_command("preview", file, "--home", app.home) == 1
    assert "there is no application other" in capsys.readouterr().err


def test_it_says_what_becomes_of_rows_in_flight_with_and_without_reslicing(
    app: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(app, join(5, 5, where=" WHERE a.id <> 3"))
    for options, verdict in (([], "state kept"), (["--reslice"], "a join begins afresh")):
        assert run_command("preview", file, "--home", app.home, *options) == 0
        assert f"with {file}: {verdict}" in capsys.readouterr().out


def test_another_source_is_refused_with_a_way(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    wider = join(9, 5)
    moved = wider.replace('SCRIBE("a")', 'SCRIBE("c")')
    assert run_command("preview", written(app, moved), "--home", app.home) == 1
    said = capsys.readouterr().err
    assert "v.left reads another source than before" in said
    assert "preview the query with the source that a had" in " ".join(said.split())
    assert run_command("preview", written(app, wider), "--home", app.home) == 0
