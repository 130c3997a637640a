"""`dovetail check` and `dovetail plan`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dovetail.errors import InputError, PqlError
from dovetail.plan.physical import from_json
from dovetail.plan.rules import RULES
from dovetail.pql.compile import compile_pql
from dovetail.service.cli.check_plan import check, plan


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    made.command("check")(check)
    made.command("plan")(plan)
    return made


@pytest.fixture
def file(tmp_path: Path, joined: Callable[..., str]) -> Path:
    path = tmp_path / "app.pql"
    path.write_text(joined("a.k AS k b.y AS y", "LEFT", "\n WITH (match = 'one')"))
    return path


def test_check_tells_what_the_application_is(app: typer.Typer, file: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(file)])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "ok"
    for line in (
        "application  app",
        'input        a: category "a"',
        "t TIMESTAMP, k STRING, x INT, ts BIGINT",
        "join         v: a LEFT OUTER JOIN b",
        "on a.k = b.k; one partner, the first",
        "right rows 1 minute before to 2 minutes after the left row",
        "output       o: noop",
        f"warning: {file}:4:33: a comma is missing after `AS k`",
    ):
        assert line in result.stdout


def test_check_prints_all_errors_and_fails(app: typer.Typer, file: Path) -> None:
    file.write_text(file.read_text().replace("a.k AS k", "a.kk AS k").replace("NOOP", "HIVE"))
    result = CliRunner().invoke(app, ["check", str(file)])
    assert result.exit_code == 1
    assert "`a` has no column `kk`" in result.stderr
    assert "unknown storage `HIVE`" in result.stderr
    assert f"2 errors in {file}" in result.stderr
    as_json = CliRunner().invoke(app, ["check", str(file), "--json"])
    assert as_json.exit_code == 1
    assert [error["condition"] for error in json.loads(as_json.stdout)["errors"]] == ["PQL_INVALID"] * 2


def test_check_as_json(app: typer.Typer, file: Path) -> None:
    data = json.loads(CliRunner().invoke(app, ["check", str(file), "--json"]).stdout)
    assert data["ok"] is True
    assert data["joins"][0]["before_us"] == 60_000_000
    assert data["inputs"][0]["columns"][0] == {"name": "t", "type": "TIMESTAMP"}
    assert len(data["warnings"]) == 1


def test_plan_draws_text(app: typer.Typer, file: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(file)])
    assert result.exit_code == 0
    for part in ("v: left slicer", "v: right slicer", "v: join", "o: post-join slicer", "app.v.left", "noop"):
        assert part in result.stdout


def test_plan_as_json_is_the_plan(app: typer.Typer, file: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(file), "--json"])
    assert from_json(json.loads(result.stdout)) == compile_pql(file.read_text(), name=str(file))


def test_plan_shows_every_rule(app: typer.Typer, file: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(file), "--rules"])
    for rule in RULES:
        assert f"-- {rule.__name__} --" in result.stdout
    assert "CREATE VIEW v_join AS" in result.stdout


@pytest.mark.parametrize("turned", [False, True])
def test_plan_draws_an_svg(app: typer.Typer, file: Path, tmp_path: Path, turned: bool) -> None:
    target = tmp_path / "out.svg"
    arguments = [str(target), str(file)] if turned else [str(file), str(target)]
    result = CliRunner().invoke(app, ["plan", "--draw", *arguments])
    assert result.exit_code == 0
    assert target.read_text().startswith("<svg")


def test_plan_draws_into_the_working_directory(
    app: typer.Typer, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["plan", str(file), "--draw"]).exit_code == 0
    assert (tmp_path / "app.svg").exists()


def test_plan_of_a_wrong_file_is_an_error(app: typer.Typer, file: Path, tmp_path: Path) -> None:
    file.write_text("CREATE NONSENSE;")
    assert isinstance(CliRunner().invoke(app, ["plan", str(file)]).exception, PqlError)
    missing = CliRunner().invoke(app, ["check", str(tmp_path / "other.pql")]).exception
    assert isinstance(missing, InputError)
    assert "app.pql" in str(missing)
    (tmp_path / "binary.pql").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in str(CliRunner().invoke(app, ["check", str(tmp_path / "binary.pql")]).exception)
    assert isinstance(CliRunner().invoke(app, ["check", str(tmp_path)]).exception, InputError)
    two = CliRunner().invoke(app, ["plan", str(file), "x.svg"]).exception
    assert "--draw x.svg" in str(two)
