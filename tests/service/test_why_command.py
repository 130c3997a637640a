"""`dovetail why` about an application that was driven by hand: what it prints, refuses and loads."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from commands import imported_by, run_command
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, ThetaJoin, WindowedJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.model.theta import Theta
from dovetail.model.window_join import tumbling
from dovetail.plan.application_file import application_path, encode, read_application
from dovetail.plan.physical import CategoryOutput, JoinStage, NoopSink, Plan, Relation, SlicerStage
from dovetail.service.cli import main as cli
from laws.theta import band
from unit.engine.stepping import Driven

SPEC = IntervalSpec(30, 40, "left")
KIND = IntervalJoin(SPEC)


def plan(*joins: str) -> Plan:
    slicers = tuple(
        SlicerStage(side, (), (), "", CategoryOutput(side, ("_key_0",), "_time", 4))
        for side in ("left", "right")
    )
    made = tuple(
        JoinStage(name, "left", "right", KIND, JoinSettings(0, 0, 77, 3), "source", (), (), "", NoopSink())
        for name in joins
    )
    return Plan("app", (*slicers, *made), ("a warning",))


@pytest.fixture
def home(tmp_path: Path) -> str:
    join = Driven.make(tmp_path, SPEC)
    join.append("left", ("a", 100), ("b", 100))
    join.append("right", ("a", 120))
    join.step(final=True)
    return started(join.config.home, plan("view"))


def started(home: str, made: Plan) -> str:
    store = open_store(home)
    store.make_folder("apps/app")
    store.replace(application_path("app"), encode(made))
    return home


run = partial(run_command, "why")


def test_a_plan_is_read_back(home: str) -> None:
    assert read_application(home, "app") == plan("view")


def test_what_is_printed(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "--key", "a", "--home", home) == 0
    out = capsys.readouterr().out
    assert "app · join view · key a" in out
    assert "  matched\n    with 1970-01-01T00:00:00.000120Z" in out
    assert run("app", "--key", "b", "--home", home) == 0
    assert "not matched\n    no right row has this key" in capsys.readouterr().out
    assert run("app", "--key", "zz", "--home", home) == 0
    assert "no left row with this key" in capsys.readouterr().out


def test_as_data(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "--key", "b", "--home", home, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    (row,) = said["rows"]
    assert (said["key"], said["last_step"], said["right_time"]) == (["b"], 1, "ended")
    assert (row["status"], row["miss"]["reason"], row["left"]["values"]) == (
        "unmatched",
        "no_right_row",
        {"id": 1},
    )


def test_one_row_is_asked_for_by_its_number(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "--key", "b", "--home", home, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert run("app", "--row", str(row["left"]["row"]), "--home", home) == 0
    out = capsys.readouterr().out
    assert out.startswith("app · join view · key b\n")
    assert f"left row {row['left']['row']}  1970-01-01T00:00:00.000100Z" in out


@pytest.fixture
def windowed(tmp_path: Path) -> str:
    kind = WindowedJoin("left", tumbling(100))
    join = Driven.make(tmp_path, kind)
    join.append("left", ("a", 110), ("b", 110))
    join.append("right", ("a", 150), ("b", 250))
    join.step(final=True)
    made = plan("view")
    return started(
        join.config.home,
        replace(made, stages=(*made.stages[:2], replace(made.joins[0], join_kind=kind))),
    )


def test_a_join_within_windows(windowed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "--key", "a", "--home", windowed) == 0
    out = capsys.readouterr().out
    assert "  matched\n    window 1970-01-01T00:00:00.000100Z to 1970-01-01T00:00:00.000200Z: over in" in out
    assert run("app", "--key", "b", "--home", windowed, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    (window,) = row["windows"]
    assert (window["status"], window["miss"]["reason"], window["miss"]["by_us"]) == (
        "unmatched",
        "outside_window",
        51,
    )


@pytest.fixture
def theta(tmp_path: Path) -> str:
    near = ThetaJoin(SPEC, Theta((band(-2, 2),)))
    join = Driven.make(tmp_path, near)
    join.append("left", (10, 100), (20, 100))
    join.append("right", (12, 120))
    join.step(final=True)
    made = plan("view")
    sliced = [
        replace(
            slicer,
            views=(Relation("v", f"SELECT {sql} AS `_on_0`, `{side[0]}`.`t` AS `_time` FROM `{side[0]}`"),),
            output=CategoryOutput(side, (), "_time", 1),
        )
        for slicer, side, sql in zip(
            made.slicers, ("left", "right"), ("`l`.`x`", "coalesce(`r`.`a`, 0)"), strict=True
        )
    ]
    return started(join.config.home, replace(made, stages=(*sliced, replace(made.joins[0], join_kind=near))))


def test_a_join_without_an_equality(theta: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "--row", "0", "--home", theta) == 0
    assert "  matched\n    with 1970-01-01T00:00:00.000120Z" in capsys.readouterr().out
    assert run("app", "--time", "1970-01-01", "--home", theta) == 0
    out = capsys.readouterr().out
    assert out.count("left row ") == 2
    assert "l.x - coalesce(r.a, 0) <= 2 fails for all of them" in out
    assert run("app", "--row", "1", "--home", theta, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["miss"]["reason"] == "condition_fails"
    assert row["failing"][1] == {"condition": "l.x - coalesce(r.a, 0) <= 2", "rows": 1}
    assert run("app", "--key", "1", "--home", theta) == cli.EXIT_ERROR
    printed = " ".join(capsys.readouterr().err.split())
    assert "a join without an equality has no keys to ask for" in printed
    assert "--row with the number of a left row, or --time" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["app"], "0 key values for a key of 1 columns"),
        (["app", "--row", "9"], "there is no left row 9 in the log"),
        (["app", "--row", "0", "--key", "a"], "a row and a key are asked for at once"),
        (["ap", "--key", "a"], "there is no application ap"),
        (["app", "--key", "a", "--key", "b"], "2 key values for a key of 1 columns"),
        (["app", "--key", "a", "--time", "noon"], "'noon' is not a time"),
        (["app", "--key", "a", "--join", "other"], "there is no join other"),
    ],
)
def test_what_is_refused(
    home: str, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--home", home) == cli.EXIT_ERROR
    assert words in capsys.readouterr().err


def test_one_of_several_joins_must_be_named(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    started(home, plan("view", "other"))
    assert run("app", "--key", "a", "--home", home) == cli.EXIT_ERROR
    assert "--join with one of: view, other" in capsys.readouterr().err
    assert run("app", "--key", "a", "--join", "view", "--home", home) == 0
    assert "matched" in capsys.readouterr().out


def test_it_needs_no_spark(home: str) -> None:
    assert imported_by(["why", "app", "--key", "a", "--home", home], ("pyspark", "sqlglot")) == []
