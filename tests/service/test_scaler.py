"""The scaler: stories of single decisions. tests/simulation/test_scaler.py has laws over whole days."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dovetail.service.scaler.decide import QUIET_S, decide, wanted_rate
from dovetail.service.scaler.sample import LoadSample, TaskChange, TaskLimits
from dovetail.service.scaler.simulate import System, simulate
from dovetail.service.scaler.slicers import decide_slicers

LIMITS = TaskLimits(1, 8)
SAMPLE = LoadSample(0, 2, 4_000, 4_000, 0, 0, row_us=50)
"""Two tasks of 10,000 rows/s each; 8,000 come in."""


def hour(**last: Any) -> list[LoadSample]:
    """An hour of the same, and the last five minutes as said."""
    return [replace(SAMPLE, at_s=at, **(last if at > 3_300 else {})) for at in range(0, 3_610, 10)]


def decided(samples: list[LoadSample], *changes: TaskChange, limits: TaskLimits = LIMITS) -> tuple[str, int]:
    found = decide(samples, changes, limits)
    return found.direction, found.tasks


def test_enough_is_enough() -> None:
    assert decided(hour()) == ("hold", 2)


def test_up_when_more_comes_in_than_two_tasks_take_at_their_target_use() -> None:
    samples = hour(left_rate=10_000, right_rate=10_000)
    found = decide(samples, [], LIMITS)
    assert (found.direction, found.tasks) == ("up", 4)
    assert "20,000 rows/s come in" in found.reason
    assert decided(samples[:-29]) == ("hold", 2), "a moment of it is no reason"


def test_a_backlog_counts_if_both_sides_have_one() -> None:
    both = hour(left_backlog=6_000_000, right_backlog=6_000_000)
    assert decided(both)[0] == "up"
    assert decided(hour(left_backlog=12_000_000)) == ("hold", 2), "a lagging side alone is pacing"
    assert wanted_rate(both[-1]) > 20_000


def test_not_while_it_replays_nor_just_after_a_change() -> None:
    busy = {"left_rate": 10_000.0, "right_rate": 10_000.0}
    assert decided(hour(**busy, replaying=True)) == ("hold", 2)
    assert decided(hour(**busy), TaskChange(3_600 - QUIET_S + 1, 1, 2)) == ("hold", 2)
    assert decided(hour(**busy), TaskChange(3_600 - QUIET_S - 1, 1, 2))[0] == "up"


def test_down_to_the_maximum_of_an_hour() -> None:
    quiet = [replace(SAMPLE, at_s=at, tasks=8, row_us=12.5) for at in range(0, 3_700, 10)]
    assert decided(quiet) == ("down", 2)
    assert decided([*quiet[:200], replace(quiet[200], left_rate=40_000), *quiet[201:]]) == ("hold", 8)
    assert decided(quiet, TaskChange(600, 4, 8)) == ("hold", 8), "an hour with this number of tasks"
    assert decided(quiet[:-40]) == ("hold", 8)


def test_it_is_bounded_and_says_by_what() -> None:
    busy = hour(left_rate=60_000, right_rate=60_000)
    found = decide(busy, [], TaskLimits(1, 3, "the quota of ada"))
    assert (found.tasks, found.stuck) == (3, True)
    assert "the quota of ada" in found.reason
    full = decide(busy, [], TaskLimits(1, 2, "cores"))
    assert (full.direction, full.stuck) == ("hold", True)
    assert "at its limit by cores" in full.reason


def test_a_hot_key_is_named() -> None:
    busy = hour(left_rate=60_000, right_rate=60_000, hot_key="ad 7", hot_share=0.3)
    found = decide(busy, [], LIMITS)
    assert found.tasks == 3
    assert "the key ad 7, which has 30% of the rows" in found.reason


def test_a_step_up_that_gained_nothing_is_not_repeated() -> None:
    """From one task to two, and each of the two takes half of what the one did."""
    busy = hour(left_rate=10_000, right_rate=10_000)
    found = decide(busy, [TaskChange(0, 1, 2, capacity_before=20_000)], LIMITS)
    assert (found.direction, found.stuck) == ("hold", True)
    assert "gained 0% of what was expected" in found.reason
    assert decided(busy, TaskChange(0, 1, 2, capacity_before=12_000))[0] == "up"


def test_memory_has_room_above_the_maximum_of_an_hour() -> None:
    samples = [replace(SAMPLE, at_s=at, memory_bytes=1000 if at < 100 else 800) for at in range(0, 4_000, 10)]
    assert decide(samples[:300], [], LIMITS).memory_bytes == 1_250
    assert decide(samples, [], LIMITS).memory_bytes == 1_000


def test_slicers_apart_from_joins() -> None:
    behind = [replace(SAMPLE, at_s=at, unsliced_rows=at * 100) for at in range(100, 400, 10)]
    assert decide_slicers(behind, pooled=True).direction == "up"
    alone = decide_slicers(behind, pooled=False)
    assert (alone.direction, alone.stuck) == ("hold", True)
    assert decide_slicers([replace(one, unsliced_rows=5_000) for one in behind], True).direction == "hold"
    assert decided(behind)[0] == "hold", "joins have nothing to do with it"


def test_it_stops_where_more_tasks_do_not_help() -> None:
    found = simulate(lambda _: (30_000.0, 30_000.0), System(serial=0.9), TaskLimits(1, 64), 7_200, seed=1)
    assert max(change.after for change in found.changes) <= 12
    assert found.verdicts[-1].stuck
    assert "more tasks do not help" in found.verdicts[-1].reason
