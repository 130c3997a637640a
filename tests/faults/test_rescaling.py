"""Rescalable: the number of tasks may be another in every step, 1 to 64, and nothing but the speed changes:
not what comes out, not what is counted (`test_recoverable.py` draws any number in every step), and no more is
kept than one grouping needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import oracle
from dovetail.engine import live_index
from dovetail.engine.store import read_totals
from laws.algorithms import HASHINGS, Hashing
from laws.recovering import RecoveringJoin, in_log_order, passing_home
from oracle import ENDED
from streams import Mode, Row, Step, Window

MOST = 64


@pytest.mark.parametrize("mode", [Mode("left", "all", "first"), Mode("full", "one", "nearest")], ids="-".join)
def test_from_most_to_one_and_back(mode: Mode) -> None:
    """Each time with many rows of every kind: open, matched, chosen and retained."""
    hashing = HASHINGS[0]
    left = [Row(n % 40, n, n) for n in range(400)]
    right = [Row(n % 40, n + n % 3, n) for n in range(0, 400, 2)]
    cuts = [(low, low + 100) for low in range(0, 400, 100)]
    steps = [
        Step(
            tuple(row for row in left if low <= row.time < high),
            tuple(row for row in right if low <= row.time < high),
            (high - 60, high - 60),
        )
        for low, high in cuts
    ]
    steps = in_log_order([*steps, Step((), (), (ENDED, ENDED))], hashing, MOST)
    expected = oracle.streaming_join(steps, 45, 30, *mode)
    assert all(expected)
    with passing_home() as home:
        join = RecoveringJoin(home, Window(45, 30), mode, hashing, buckets=MOST)
        for n, (step, tasks) in enumerate(zip(steps, (MOST, 1, MOST, 1, MOST), strict=True)):
            assert join.step(step, tasks, "none") == expected[n], (n, tasks)
        totals = read_totals(join.config, join.offset)
        assert (totals["left_in"], totals["right_in"]) == (400, sum(len(step.right) for step in steps))


def held(home: Path) -> tuple[RecoveringJoin, Callable[[int], None]]:
    """A join that holds 640 left rows, as many of each bucket, and a way to run a step without new rows."""
    hashing = Hashing("key", lambda key: key << 32 | key, True)
    join = RecoveringJoin(home, Window(5, 5), Mode("left", "all", "first"), hashing, buckets=MOST)
    rows = tuple(Row(n % MOST, n, n) for n in range(640))
    (first,) = in_log_order([Step(rows, (), (0, 0))], hashing, MOST)
    join.step(first, 2, "none")
    return join, lambda tasks: join.step(Step((), (), (0, 0)), tasks, "none") and None


def test_the_most_that_was_held_is_not_counted_again_with_every_change() -> None:
    with passing_home() as home:
        join, step = held(home)
        for tasks in (8, 3, 1, MOST, 2):
            step(tasks)
            assert read_totals(join.config, join.offset)["peak_rows"] == 640, tasks


def test_the_index_of_the_old_grouping_gives_its_memory_back() -> None:
    """Its files, and what this process has mapped of them."""
    with passing_home() as home:
        join, step = held(home)
        for tasks in (8, 3, 3, 2):
            step(tasks)
            groups = {f"{task}-of-{tasks}" for task in range(tasks)}
            assert {file.parent.name for file in join.index.rglob("*.ring")} == groups
            mapped = {name.split("/")[-2] for name in live_index.MAPPED if name.startswith(str(home))}
            assert mapped == groups
