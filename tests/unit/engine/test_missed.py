"""What a join missed, and what it counts where keys are split: as many as there were."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine.copying import settle
from dovetail.engine.driver import JoinDriver
from dovetail.engine.planner import HostClock
from dovetail.engine.store import read_totals
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset
from dovetail.model.share import HotKey
from unit.engine.stepping import Driven

import pyarrow as pa  # isort: skip

SECOND, MINUTE, DAY = 1_000_000, 60_000_000, 86_400_000_000
SPEC = IntervalSpec(SECOND, SECOND, "left")


def missed(join: Driven) -> int:
    settle()
    return read_totals(join.config, join.offset)["missed"]


def test_left_rows_that_always_come_late_miss_their_partners(tmp_path: Path) -> None:
    """As lone rows of a first join do in a second: five minutes after the right rows, where the window is a
    second."""
    join = Driven.make(tmp_path, SPEC, max_delay=2 * SECOND)
    for minute in range(30):
        join.append("right", *((f"k{minute}.{n}", minute * MINUTE + n * SECOND) for n in range(3)))
        if minute >= 5:
            late = minute - 5
            join.append("left", *((f"k{late}.{n}", late * MINUTE + n * SECOND) for n in range(3)))
        join.append("left", (f"on time {minute}", minute * MINUTE))
        join.step()
    assert join.pairs == set()
    assert missed(join) == 25 * 3


def test_one_row_dated_days_ahead_makes_all_later_ones_miss(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, SPEC, max_delay=2 * SECOND)
    for second in range(60):
        join.append("right", (f"k{second}", second * SECOND))
        join.step()
        join.append("left", *([("far", 2 * DAY)] if second == 20 else []), (f"k{second}", second * SECOND))
        join.step()
    found = len(join.pairs)
    assert found < 30
    assert missed(join) == 60 - found


def test_a_stream_that_was_only_slow_and_passed_for_idle(tmp_path: Path) -> None:
    made = Driven.make(tmp_path, SPEC, max_delay=SECOND)
    settings = replace(made.config.settings, idle_timeout_us=2 * SECOND)
    now = [0]
    driver = JoinDriver(replace(made.config, settings=settings), HostClock(lambda: 0, lambda: now[0]))
    at, pairs = JoinOffset(), 0

    def step() -> None:
        nonlocal at, pairs
        end = driver.plan(at, tasks=1)
        if end is not at:
            pairs += sum(batch.column("right").drop_null().__len__() for batch in driver.run(at, end))
            at = end

    made.append("right", ("k0", 0))
    for second in range(40):
        made.append("left", (f"k{second}", second * SECOND))
        now[0] += SECOND
        step()
    for second in range(1, 40):  # the right stream was on its way all the time
        made.append("right", (f"k{second}", second * SECOND))
    step()
    settle()
    assert pairs < 10
    assert read_totals(made.config, at)["missed"] == 40 - pairs


def test_a_row_of_any_date_does_not_keep_the_sample_from_forgetting(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, SPEC, max_delay=SECOND)
    for minute in range(20):
        rows = [(f"k{minute}.{n}", minute * MINUTE + n) for n in range(200)]
        join.append("right", *rows, ("old", 0))
        join.append("left", *rows, ("old", 0))
        join.step()
    assert len(join.pairs) >= 20 * 200


@pytest.mark.parametrize("dealt", ["left", "right"])
def test_rows_of_a_split_key_are_counted_once(tmp_path: Path, dealt: str) -> None:
    """Held rows are the same however keys are split; a match rate leaves out what no task can tell."""
    rng = random.Random(dealt)
    hot = HotKey(int(hash_keys([pa.array(["a"])])[0]), dealt)  # type: ignore[arg-type]
    spec = IntervalSpec(20, 20, "inner")
    joins = [Driven.make(tmp_path / name, spec, max_delay=5) for name in ("whole", "split")]
    at = [JoinOffset(), JoinOffset()]
    rows: dict[str, list[tuple[str, int]]] = {"left": [], "right": []}
    for step in range(12):
        for side in rows:
            new = [(rng.choice("aaabcd"), step * 10 + rng.randrange(10)) for _ in range(12)]
            rows[side] += new
            for join in joins:
                join.append(side, *new)
        totals = []
        for n, (join, tasks, keys) in enumerate(zip(joins, (1, 3), ([], [list(hot)]), strict=True)):
            driver = JoinDriver(join.config)
            end = driver.plan(
                at[n],
                until=driver.there_now(),
                final=step == 11,
                tasks=tasks,
                amend=lambda planned, keys=keys: planned.moved(hot=keys),  # type: ignore[misc]
            )
            list(driver.run(at[n], end))
            at[n] = end
            settle()
            totals.append(read_totals(join.config, end))
        whole, split = totals
        for name in ("left_in", "right_in", "pairs", "open_rows", "retained_rows"):
            assert whole[name] == split[name], (step, name)
    hot_left = [row for row in rows["left"] if row[0] == "a"]
    if dealt == "left":
        assert (split["left_matched"], split["left_split"]) == (whole["left_matched"], 0)
    else:
        others = [row for row in rows["left"] if row[0] != "a"]
        partnered = [
            one for one in others if any(r[0] == one[0] and abs(r[1] - one[1]) <= 20 for r in rows["right"])
        ]
        assert split["left_split"] == len(hot_left)
        assert abs(split["left_matched"] - len(partnered)) <= whole["left_late"] + whole["right_late"]
