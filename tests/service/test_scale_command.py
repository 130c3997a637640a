"""`dovetail scale`: what it shows, changes, takes back and refuses. The application was driven by hand."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from commands import imported_by, run_command
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.plan.application_file import application_path, encode
from dovetail.plan.physical import CategoryOutput, JoinStage, NoopSink, Plan, SlicerStage
from dovetail.service.cli import main as cli
from dovetail.service.words.status_words import task_words
from unit.engine.stepping import Driven

SPEC = IntervalSpec(30, 40, "left")
JOINS = {"view": None, "other": 3}  # with the option `tasks`


def plan(buckets: int, other_buckets: int) -> Plan:
    """Joins `view` and `other`, each with a log of its own."""
    stages: list[SlicerStage | JoinStage] = []
    for (name, tasks), size in zip(JOINS.items(), (buckets, other_buckets), strict=True):
        prefix = "" if name == "view" else f"{name}."
        left, right = f"{prefix}left", f"{prefix}right"
        stages += [
            SlicerStage(side, (), (), "", CategoryOutput(side, ("_key_0",), "_time", size))
            for side in (left, right)
        ]
        settings = JoinSettings(0, 0, 77, tasks)
        stages.append(
            JoinStage(name, left, right, IntervalJoin(SPEC), settings, "source", (), (), "", NoopSink())
        )
    return Plan("app", tuple(stages))


def started(folder: Path, buckets: int = 64, other_buckets: int = 64) -> str:
    """A home in which `view` has made a step with one task."""
    join = Driven.make(folder, SPEC)
    join.append("left", ("a", 100))
    join.step()
    store = open_store(join.config.home)
    store.replace(application_path("app"), encode(plan(buckets, other_buckets)))
    return join.config.home


@pytest.fixture
def home(tmp_path: Path) -> str:
    return started(tmp_path)


run = partial(run_command, "scale", "app")


def shown(capsys: pytest.CaptureFixture[str], home: str, *arguments: str) -> dict[str, tuple[object, ...]]:
    """For each join: tasks now, tasks asked for, by whom."""
    assert run("--home", home, "--json", *arguments) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["application"] == "app"
    return {
        join["name"]: (join["tasks"], join["tasks_asked"], join["tasks_from"])
        for join in said["joins"]
        if join["trouble"] is None
    }


def test_shown_changed_and_taken_back(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"view": (1, None, "cores"), "other": (None, 3, "option")}
    assert shown(capsys, home) == before
    after = {"view": (1, 8, "command"), "other": (None, 8, "command")}
    assert shown(capsys, home, "--tasks", "8") == after
    assert shown(capsys, home) == after, "showing changes nothing"
    assert shown(capsys, home, "--tasks", "64", "--join", "view") == {"view": (1, 64, "command")}
    assert shown(capsys, home)["other"] == after["other"]
    assert shown(capsys, home, "--tasks", "auto", "--join", "other") == {"other": before["other"]}
    assert shown(capsys, home, "--tasks", "auto") == before


def test_what_is_printed(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--home", home, "--tasks", "1", "--join", "view") == 0
    assert capsys.readouterr().out == "app\njoin view  1 task (set by dovetail scale)\n"
    assert run("--home", home, "--tasks", "8") == 0
    assert capsys.readouterr().out == (
        "app\n"
        "join view  1 task, 8 from the next step on (set by dovetail scale)\n"
        "join other  no step yet, 8 from the next step on (set by dovetail scale)\n"
    )


def test_a_damaged_file_is_told_and_replaced(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, home, "--tasks", "8")
    file = Path(home) / "apps/app/state/view/tasks.json"
    file.write_bytes(file.read_bytes()[:-3])
    assert run("--home", home) == 0
    printed = capsys.readouterr().out
    assert "1 task (the number set by dovetail scale cannot be read)" in printed
    assert str(file) in printed.replace("\n", "")
    assert "view" not in shown(capsys, home), "the JSON has its trouble"
    assert shown(capsys, home, "--tasks", "9", "--join", "view") == {"view": (1, 9, "command")}


def test_damaged_records_of_steps_do_not_hinder(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    (chunk,) = (Path(home) / "apps/app/state/view/steps").iterdir()
    chunk.write_bytes(chunk.read_bytes()[:-3])
    assert shown(capsys, home, "--tasks", "8")["view"] == (None, 8, "command")


@pytest.mark.parametrize("said", ["0", "65", "-1", "many", "2.5", "", " 2", "²", "08", "9" * 5000])
def test_numbers_that_are_refused(home: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--home", home, f"--tasks={said}") == cli.EXIT_ERROR
    printed = capsys.readouterr().err
    assert "cannot run in" in printed
    assert "expected: 1 to 64, or auto" in printed
    assert shown(capsys, home)["other"] == (None, 3, "option")


def test_no_more_tasks_than_buckets_and_none_is_changed_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = started(tmp_path, buckets=64, other_buckets=7)
    assert run("--home", home, "--tasks", "8") == cli.EXIT_ERROR
    printed = capsys.readouterr().err
    assert "join other" in printed
    assert "expected: 1 to 7, or auto" in printed
    assert "the join has 7" in printed
    assert shown(capsys, home)["view"] == (1, None, "cores")
    assert shown(capsys, home, "--tasks", "8", "--join", "view")["view"] == (1, 8, "command")
    assert shown(capsys, home, "--tasks", "7")["other"] == (None, 7, "command")


def test_names_that_are_refused(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--home", home, "--tasks", "2", "--join", "vew") == cli.EXIT_ERROR
    printed = capsys.readouterr().err
    assert "there is no join vew" in printed
    assert "one of: view, other" in printed
    assert "did you mean `view`?" in printed
    assert run_command("scale", "ap", "--tasks", "2", "--home", home) == cli.EXIT_ERROR
    assert "there is no application ap" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ((2, None, "cores"), "2 tasks (auto: one per core)"),
        ((None, None, "cores"), "no step yet (auto: one per core)"),
        ((3, 3, "option"), "3 tasks (set by the query's option tasks)"),
        ((1, 64, "command"), "1 task, 64 from the next step on (set by dovetail scale)"),
    ],
)
def test_words(known: tuple[int | None, int | None, str], words: str) -> None:
    assert task_words(*known) == words  # type: ignore[arg-type]


def test_it_needs_no_spark(home: str) -> None:
    assert imported_by(["scale", "app", "--tasks", "2", "--home", home], ("pyspark", "sqlglot")) == []
