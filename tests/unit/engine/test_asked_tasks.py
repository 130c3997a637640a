"""How many tasks a step is planned for: what was asked for last, or no other where that cannot be read."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine import asked_tasks
from dovetail.engine.asked_tasks import ask, ask_no_more, asked, tasks_to_plan
from dovetail.log import document
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from unit.engine.workload import config

CORES = 5


def join(tmp_path: Path, option: int | None = None, buckets: int = 64) -> JoinConfig:
    """A join of an application that runs on CORES cores."""
    made = config(tmp_path / "home", tmp_path / "index", IntervalSpec(1, 1, "left"), buckets, 0)
    return replace(made, tasks=option or CORES, settings=replace(made.settings, tasks=option))


def file(join: JoinConfig) -> Path:
    return Path(join.home) / join.state_path / "tasks.json"


def test_who_asked_last_is_heard(tmp_path: Path) -> None:
    without, with_option = join(tmp_path), join(tmp_path, option=3)
    assert asked(without, 2) == (None, "cores", None)
    assert asked(with_option, 2) == (3, "option", None)
    assert (tasks_to_plan(without, 2), tasks_to_plan(with_option, 2)) == (CORES, 3)
    ask(without, 8)  # the same files: only the query differs
    ask(without, 64)
    assert asked(with_option, 2) == (64, "command", None)
    assert tasks_to_plan(with_option, 2) == 64
    ask_no_more(without)
    ask_no_more(without)
    assert asked(with_option, 64) == (3, "option", None)
    assert not file(without).exists()


def test_never_more_tasks_than_buckets(tmp_path: Path) -> None:
    """The number may be older than the join: an application that never ran may be given another query."""
    ask(join(tmp_path), 64)
    assert tasks_to_plan(join(tmp_path, buckets=7), 0) == 7
    ask_no_more(join(tmp_path))
    assert asked(join(tmp_path, option=100, buckets=7), 0) == (7, "option", None)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-9],
    "a flipped bit": lambda data: data.replace(b'"tasks":8', b'"tasks":9'),
    "of the future": lambda data: document.encode(asked_tasks.KIND, 99, {"tasks": 8}),
    "of another kind": lambda data: document.encode("dovetail.steps", asked_tasks.VERSION, {"tasks": 8}),
    **{
        f"holds {body}": lambda data, body=body: document.encode(asked_tasks.KIND, asked_tasks.VERSION, body)
        for body in ({}, {"tasks": 0}, {"tasks": 65}, {"tasks": True}, {"tasks": 2.0}, {"tasks": "8"})
    },
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_cannot_be_read_moves_nothing_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    with_option = join(tmp_path, option=3)
    ask(with_option, 8)
    file(with_option).write_bytes(damage(file(with_option).read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert [tasks_to_plan(with_option, now) for now in (8, 8, 2)] == [8, 8, 2]
        assert tasks_to_plan(with_option, 0) == 3, "before the first step"
    assert len(caplog.messages) == 1
    assert str(file(with_option)) in caplog.messages[0]
    found = asked(with_option, 8)
    assert (found.tasks, found.origin) == (8, "unreadable")
    ask(with_option, 6)
    assert asked(with_option, 8) == (6, "command", None)


def test_a_home_that_cannot_be_read_at_this_moment_moves_nothing(tmp_path: Path) -> None:
    made = join(tmp_path)
    file(made).mkdir(parents=True)  # reading it fails, and not because it is missing
    assert tasks_to_plan(made, 4) == 4
    assert tasks_to_plan(made, 0) == CORES


def test_on_a_home_that_is_not_local(tmp_path: Path) -> None:
    made = replace(join(tmp_path), home=f"mock:///{uuid.uuid4().hex}")
    assert tasks_to_plan(made, 2) == CORES
    ask(made, 9)
    assert tasks_to_plan(made, 2) == 9
    ask_no_more(made)
    assert tasks_to_plan(made, 9) == CORES
