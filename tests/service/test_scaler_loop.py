"""The scaler at work on an application that was driven by hand: it acts, advises, remembers and can be asked
again."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dovetail.engine.asked_tasks import asked
from dovetail.engine.row_cost import row_cost_us
from dovetail.model.step_record import CommitTaken, SideRecord, StepRecord
from dovetail.service.keeping.autoscaling import words
from dovetail.service.scaler.decisions import changes_of, decisions
from dovetail.service.scaler.figures import samples_of
from dovetail.service.scaler.loop import JOINS, History, Scaler, histories, replay
from dovetail.service.scaler.sample import LoadSample, Mode, TaskLimits
from dovetail.service.scaling import joins_of
from service.test_scale_command import started

HOUR = 3_600.0
BUSY = LoadSample(0, 2, 10_000, 10_000, 0, 0, row_us=50)
QUIET = replace(BUSY, left_rate=100, right_rate=100)
MOST = (8, "cores")


def history(sample: LoadSample, until_s: float, tasks: int) -> History:
    at = [until_s - HOUR - 60 + 10 * number for number in range(367)]
    scaled = replace(sample, tasks=tasks, row_us=100 / tasks)
    return [(each, {JOINS: {"view": asdict(replace(scaled, at_s=each))}}) for each in at]


@pytest.fixture
def home(tmp_path: Path) -> str:
    return started(tmp_path)


def wanted_tasks(home: str) -> int | None:
    return asked(joins_of(home, "app", "view")[0], None).tasks


def look(home: str, mode: Mode, sample: LoadSample, now_s: float, tasks: int) -> list[str]:
    found = Scaler(home).look("app", mode, False, MOST, history(sample, now_s, tasks), now_s)
    return [words(one) for one in found]


def test_once_up_and_once_down_with_reasons_on_record(home: str) -> None:
    start = 1_750_000_000.0
    (up,) = look(home, "act", BUSY, start, 2)
    assert up.startswith("view from 2 to 4 tasks: 20,000 rows/s come in")
    assert wanted_tasks(home) == 4
    assert look(home, "act", BUSY, start + 60, 2) == [], "just after a change, by what is on record"
    (down,) = look(home, "act", QUIET, start + 3 * HOUR, 4)
    assert down.startswith("view from 4 to 1 tasks: at most")
    assert wanted_tasks(home) == 1
    assert [(c.before, c.after) for c in changes_of(home, "app", "view", 0, 2e9)] == [(2, 4), (4, 1)]
    assert [row["direction"] for row in decisions(home, "app")] == ["down", "up"]


def test_a_clock_that_is_set_back_does_not_stop_it(home: str) -> None:
    start = 1_750_000_000.0
    assert look(home, "act", BUSY, start, 2)
    assert look(home, "act", BUSY, start - HOUR, 2), "it was not changed just now, for an hour"


def test_advice_changes_nothing_and_is_given_once(home: str) -> None:
    scaler = Scaler(home)
    for minute in range(3):
        now_s = 1_750_000_000.0 + 60 * minute
        found = scaler.look("app", "advise", False, MOST, history(BUSY, now_s, 2), now_s)
        assert [words(one).split(":")[0] for one in found] == (
            ["view should go from 2 to 4 tasks"] if minute == 0 else []
        )
    assert wanted_tasks(home) is None
    assert changes_of(home, "app", "view", 0, 2e9) == []


def test_one_at_its_limit_is_told_and_kept_for_alarms(home: str) -> None:
    scaler = Scaler(home)
    found = scaler.look("app", "act", False, (2, "the quota of ada"), history(BUSY, 1e9, 2), 1e9)
    assert "at its limit by the quota of ada" in words(found[0])
    assert "the quota of ada" in scaler.stuck["app"]
    scaler.look("app", "act", False, MOST, history(QUIET, 1e9, 2), 1e9)
    assert scaler.stuck == {}


def test_yesterday_can_be_decided_again() -> None:
    day = [replace(QUIET, at_s=60.0 * minute, tasks=1, row_us=100) for minute in range(120)]
    day += [replace(BUSY, at_s=60.0 * minute, tasks=1, row_us=100) for minute in range(120, 300)]
    day += [replace(QUIET, at_s=60.0 * minute, tasks=1, row_us=100) for minute in range(300, 480)]
    found = list(replay(day, TaskLimits(1, 8)))
    assert [(said.direction, said.tasks) for _, said in found] == [("up", 3), ("down", 1)]
    minutes = [at_s / 60 for at_s, _ in found]
    assert 120 < minutes[0] < 130
    assert 355 < minutes[1] < 370


def test_what_is_remembered_is_what_is_read() -> None:
    frequent = [{"key": ["ad", "7"], "share": 0.4}]
    side = {"rows_per_s": 5.0, "backlog_rows": 7, "frequent": frequent, "source": None}
    join = {
        "name": "view",
        "tasks": 2,
        "left": side,
        "right": {**side, "source": {"rows": 9}},
        "row_us": 3.0,
        "splits_keys": False,
        "replay": None,
        "totals": {"index_bytes": 11},
    }
    (sample,) = samples_of({"joins": [join, {"name": "new", "tasks": None}]}, 5.0).values()
    assert (sample.hot_key, sample.hot_share) == ("ad, 7", 0.4)
    assert (sample.unsliced_rows, sample.memory_bytes) == (9, 11)
    assert samples_of({"joins": [{**join, "splits_keys": True}]}, 5.0)["view"].hot_key is None
    assert histories([(5.0, {JOINS: {"view": asdict(sample)}})]) == {"view": [sample]}


def steps(*sizes: int, cost_us: int = 20, fixed_us: int = 300_000, waits: bool = True) -> list[StepRecord]:
    """One step after another: each planned when the one before has ended, or half a minute later."""
    made, at_us = [], 10**15
    for number, rows in enumerate((*sizes, 0)):
        written_us = at_us - (100_000 if waits else 0)
        taken = (CommitTaken(number, None, written_us, 0),)
        side = SideRecord(number, number + 1, at_us, rows, 0, 0, None, False, False, taken)
        made.append(StepRecord(number, at_us, 0, False, side, replace(side, rows=0, taken=()), 2))
        at_us += fixed_us + cost_us * rows if waits else 30_000_000
    return made


def test_a_row_costs_the_slope_and_not_the_whole_step() -> None:
    found = row_cost_us(steps(100, 5_000, 20_000, 1_000, 9_000, 300))
    assert found is not None
    assert abs(found - 20) < 0.1
    assert row_cost_us(steps(100, 100, 100, 100, 100, 100)) is None, "only the fixed part is seen"
    same = row_cost_us(steps(*[100_000] * 6))
    assert same is not None
    assert 15 < same < 25, "large steps of one size: the fixed part is small"
    assert row_cost_us(steps(100, 5_000, 20_000, 1_000, 9_000, waits=False)) is None, "nothing waited"
    assert row_cost_us(steps(100, 5_000)) is None
