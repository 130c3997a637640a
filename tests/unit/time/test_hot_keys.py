"""Which keys are split over the tasks, and when that changes."""

from __future__ import annotations

import json

import pytest

from dovetail.model.frequent_key import FrequentKey
from dovetail.model.interval import IntervalSpec
from dovetail.model.share import HotKey
from dovetail.time.hot_keys import FEWEST_ROWS, HALF_LIFE_ROWS, Heat, hot_keys, splittable, warmed

INNER = IntervalSpec(1, 1, "inner")
ROWS = 100_000


def after(left: int, right: int, heat: Heat | None = None) -> Heat:
    """The counts after 100,000 rows on each side, `left` and `right` of them with key 7."""
    keys = [[FrequentKey(7, rows, 0)] if rows else [] for rows in (left, right)]
    return warmed(heat or Heat(), ROWS, *keys)


@pytest.mark.parametrize(
    ("tasks", "rows", "hot"), [(2, 24_000, False), (2, 26_000, True), (8, 7_000, True), (8, 6_000, False)]
)
def test_half_of_a_tasks_fair_share_is_hot(tasks: int, rows: int, hot: bool) -> None:
    assert bool(hot_keys(after(rows, 0), (), INNER, tasks)) == hot


def test_one_task_splits_nothing_and_few_rows_say_nothing() -> None:
    assert hot_keys(after(90_000, 0), (), INNER, 1) == ()
    few = warmed(Heat(), FEWEST_ROWS - 1, [FrequentKey(7, FEWEST_ROWS - 1, 0)], [])
    assert hot_keys(few, (), INNER, 2) == ()
    assert hot_keys(few, [HotKey(7, "left")], INNER, 2) == (HotKey(7, "left"),)


def test_the_larger_side_is_dealt_where_each_copy_of_a_left_row_may_match() -> None:
    assert hot_keys(after(10_000, 40_000), (), INNER, 2) == (HotKey(7, "right"),)
    assert hot_keys(after(40_000, 10_000), (), INNER, 2) == (HotKey(7, "left"),)
    for spec in (IntervalSpec(1, 1, "left"), IntervalSpec(1, 1, "inner", "one")):
        assert hot_keys(after(10_000, 40_000), (), spec, 2) == (HotKey(7, "left"),)


def test_a_hot_key_cools_down_slowly_and_keeps_its_side() -> None:
    heat, known = after(40_000, 0), (HotKey(7, "left"),)
    assert hot_keys(after(0, 30_000, heat), known, INNER, 2) == known
    steps = 0
    while hot_keys(heat, known, INNER, 2):
        heat, steps = after(0, 0, heat), steps + 1
    assert steps > HALF_LIFE_ROWS // ROWS / 2
    assert steps < 20 * HALF_LIFE_ROWS // ROWS


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_what_can_be_split(how: str) -> None:
    assert splittable(IntervalSpec(1, 1, how)) == (how not in ("right", "full"))
    assert not splittable(IntervalSpec(1, 1, how, left_cap=3))


def test_heat_travels_as_json() -> None:
    heat = after(40_000, 3)
    assert Heat.from_json(json.loads(json.dumps(heat.to_json()))) == heat


def test_of_keys_that_share_a_tag_only_one_is_split() -> None:
    """A task knows a hot key by its tag and bucket. Rows of two such keys would reach it once for each."""
    first, second = (9 << 32) + 7, (9 << 32) + 7 + 1024
    heat = warmed(Heat(), ROWS, [FrequentKey(first, ROWS // 2, 0), FrequentKey(second, ROWS // 3, 0)], [])
    found = hot_keys(heat, (), INNER, 4)
    assert [key.hash for key in found] == [first]
    known = (HotKey(second, "left"),)
    assert hot_keys(heat, known, INNER, 4) == known, "the one that is split stays so"
