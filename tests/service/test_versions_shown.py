"""`dovetail status`, `dovetail why` and metrics say which version put a row out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_command
from dovetail.changes.takeover import consider, take_over
from dovetail.changes.versions import version_path
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.plan.physical import CategoryOutput, JoinStage, NoopSink, Plan, SlicerStage
from unit.engine.stepping import Driven

OLD, NEW = IntervalJoin(IntervalSpec(30, 40, "left")), IntervalJoin(IntervalSpec(30, 80, "left"))


def plan(kind: IntervalJoin) -> Plan:
    sides = [
        SlicerStage(side, (), (), "", CategoryOutput(side, ("_key_0",), "_time", 4))
        for side in ("left", "right")
    ]
    settings = JoinSettings(0, 0, 77, None)
    return Plan(
        "app", (*sides, JoinStage("view", "left", "right", kind, settings, "s", (), (), "", NoopSink()))
    )


@pytest.fixture
def home(tmp_path: Path) -> str:
    """One pair by the old query in step 1, another by the new one in step 3; step 2 is the change."""
    join = Driven.make(tmp_path, OLD)
    home = join.config.home
    take_over(consider(home, [plan(OLD)]))
    open_store(home).make_folder("apps/app/checkpoints/view")  # as a run would
    join.append("left", ("a", 100))
    join.append("right", ("a", 120))
    join.step()
    take_over(consider(home, [plan(NEW)]), {"view": 1})
    join.config = replace(join.config, join_kind=NEW, query=2)
    join.step()
    join.append("right", ("a", 160))
    join.step()
    assert join.pairs == {(0, 0), (0, 1)}
    return home


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command(*arguments) == 0
    return capsys.readouterr().out


def test_why_names_the_version_of_each_step(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "why", "app", "--key", "a", "--home", home)
    assert "in step 1 (version 1, planned" in words
    assert "in step 3 (version 2, planned" in words
    found = json.loads(said(capsys, "why", "app", "--key", "a", "--home", home, "--json"))
    assert [match["at"]["version"] for match in found["rows"][0]["matches"]] == [1, 2]


def test_status_says_which_version_counts_and_since_when(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head = said(capsys, "status", "app", "--home", home).splitlines()[0]
    assert head.startswith("app  stopped  version 2 since 20")
    assert head.endswith(" UTC (view from step 2 on)")
    found = json.loads(said(capsys, "status", "app", "--home", home, "--json"))
    assert found["version"]["number"] == 2
    assert found["version"]["from_step"] == {"view": 2}


def test_metrics_have_the_version_as_a_label(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "status", "app", "--home", home, "--prometheus").splitlines()
    assert 'dovetail_version_info{application="app",version="2"} 1.0' in lines


def test_a_damaged_version_file_hides_a_version_and_nothing_else(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(home) / version_path("app", 2)).write_text("{}")
    assert said(capsys, "status", "app", "--home", home).splitlines()[0] == "app  stopped  version 2"
    words = said(capsys, "why", "app", "--key", "a", "--home", home)
    assert "in step 3 (planned" in words
