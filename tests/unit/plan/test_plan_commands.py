"""`dovetail check` and `dovetail plan`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from dovetail.errors import InputError, PqlError
from dovetail.log.category import Category
from dovetail.plan.physical import Plan
from dovetail.plan.rules import RULES
from dovetail.pql.compile import compile_pql
from dovetail.service.cli.check_plan import check, plan
from dovetail.service.cli.run import compile_query


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> typer.Typer:
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path / "none"))
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
    file.write_text(file.read_text().replace("a.k AS k", "a.kk AS k").replace("NOOP", "ORC"))
    result = CliRunner().invoke(app, ["check", str(file)])
    assert result.exit_code == 1
    assert "`a` has no column `kk`" in result.stderr
    assert "unknown storage `ORC`" in result.stderr
    assert f"2 errors in {file}" in result.stderr
    as_json = CliRunner().invoke(app, ["check", str(file), "--json"])
    assert as_json.exit_code == 1
    errors = json.loads(as_json.stdout)["errors"]
    assert [error["condition"] for error in errors] == ["PQL_INVALID"] * 2
    lines = file.read_text().splitlines()
    for error, text in zip(errors, ("a.kk", "ORC"), strict=True):
        assert lines[error["line"] - 1][error["column"] - 1 :].startswith(text)


def test_check_as_json(app: typer.Typer, file: Path) -> None:
    data = json.loads(CliRunner().invoke(app, ["check", str(file), "--json"]).stdout)
    assert data["ok"] is True
    assert data["joins"][0]["before_us"] == 60_000_000
    assert data["inputs"][0]["columns"][0] == {"name": "t", "type": "TIMESTAMP"}
    assert len(data["warnings"]) == 1


@pytest.fixture
def files_app(tmp_path: Path) -> Path:
    """A join of two Parquet inputs, of which only the left one exists, with an untyped time and key."""
    rows = pa.table({"t": pa.array([1], pa.timestamp("us", "UTC")), "k": pa.array([7], pa.int64())})
    (tmp_path / "left").mkdir()
    pq.write_table(rows, tmp_path / "left" / "a.parquet")
    path = tmp_path / "files.pql"
    path.write_text(
        f"""\
CREATE APPLICATION app;
CREATE INPUT TABLE a (t, k) FROM FILES("{tmp_path}/left", format = "parquet");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM FILES("{tmp_path}/right", format = "parquet");
CREATE VIEW v AS SELECT a.k AS k FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;
"""
    )
    return path


def test_check_looks_at_the_sources_that_are_there(app: typer.Typer, files_app: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(files_app)])
    assert result.exit_code == 0
    assert "t TIMESTAMP, k BIGINT" in result.stdout, "types come from the file"
    assert "warning: input table b: the input directory does not exist" in result.stdout


def test_check_finds_a_column_that_the_source_lacks(app: typer.Typer, files_app: Path) -> None:
    files_app.write_text(files_app.read_text().replace("a (t, k)", "a (t, k, other)"))
    result = CliRunner().invoke(app, ["check", str(files_app), "--json"])
    assert result.exit_code == 1
    (error,) = json.loads(result.stdout)["errors"]
    assert error["what"] == "input table a: the file lacks column other"
    assert error["line"] == 2


def test_check_and_plan_look_into_a_home(app: typer.Typer, file: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    Category.create(home, "a", pa.schema([pa.field("t", pa.timestamp("us", "UTC"))]), buckets=1)
    result = CliRunner().invoke(app, ["check", str(file), "--home", home])
    assert result.exit_code == 1
    assert "category a has no columns k, x, ts" in result.stderr
    assert "no category b" not in result.stderr
    assert CliRunner().invoke(app, ["plan", str(file), "--home", home]).exit_code == 0


def test_standard_input_and_a_byte_order_mark(app: typer.Typer, file: Path, tmp_path: Path) -> None:
    marked = tmp_path / "marked.pql"
    marked.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert CliRunner().invoke(app, ["check", str(marked)]).exit_code == 0
    assert CliRunner().invoke(app, ["check", "-"], input=marked.read_bytes()).exit_code == 0
    home = str(tmp_path / "home")
    for name in ("a", "b"):
        columns = {"t": pa.timestamp("us", "UTC"), "k": pa.string(), "x": pa.int32(), "ts": pa.int64()}
        Category.create(home, name, pa.schema({**columns, "y": pa.int32(), "tt": pa.int64()}), buckets=1)
    plans = [replace(compile_query(path, home)[1][0], warnings=()) for path in (marked, file)]
    assert plans[0] == plans[1], "run reads what check reads"


def test_plan_draws_text(app: typer.Typer, file: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(file)])
    assert result.exit_code == 0
    for part in ("v: left slicer", "v: right slicer", "v: join", "o: post-join slicer", "app.v.left", "noop"):
        assert part in result.stdout


def test_plan_as_json_is_the_plan(app: typer.Typer, file: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(file), "--json"])
    assert Plan.from_json(json.loads(result.stdout)) == compile_pql(file.read_text(), name=str(file))


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
