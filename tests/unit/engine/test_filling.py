"""Law: a join that begins afresh takes what came before it in silence, and everything after it as if it had
always been there; also if its state is rebuilt from snapshots in the middle of that."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine import live_index
from dovetail.engine.copying import settle
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.why.why import why
from oracle import batch_join

from .workload import config, joined, offsets, random_rows, write_commits

BEFORE, AFTER, MAX_DELAY, BUCKETS = 400, 300, 60, 8


def filled(tmp_path: Path, spec: IntervalSpec, *, whole: bool) -> tuple[JoinConfig, list, list, list[set]]:  # type: ignore[type-arg]
    rng = random.Random(f"{spec}")
    sides = [random_rows(rng, 150, MAX_DELAY) for _ in range(2)]
    stops, early = [], []
    for name, rows in zip(("left", "right"), sides, strict=True):
        category = write_commits(tmp_path / "home", name, rows, rng, BUCKETS)
        stop = category.next_commit() // 2
        stops.append(stop)
        early.append({row[2] for row in rows[: category.first_row(stop)]})
    join = config(tmp_path / "home", tmp_path / "index", spec, BUCKETS, MAX_DELAY)
    return replace(join, filled=tuple(stops), whole=whole), *sides, early


@pytest.mark.parametrize("rebuilt", [False, True])
@pytest.mark.parametrize("how", ["inner", "left", "full"])
def test_pairs_of_two_rows_from_before_it_do_not_come_out(tmp_path: Path, how: str, rebuilt: bool) -> None:
    join, left, right, early = filled(tmp_path, IntervalSpec(BEFORE, AFTER, how), whole=False)  # type: ignore[arg-type]
    found, cuts = [], []
    for number, (start, end) in enumerate(offsets(join, [2, 3])):
        rows = joined(join, start, end)
        assert not (join.fills(start) and rows)
        found += rows
        cuts.append((end.left, end.right))
        if rebuilt and number % 3 == 2:
            settle()
            shutil.rmtree(tmp_path / "index")
            live_index.unmap_all()
    assert join.filled in cuts, "a step ends exactly there"
    expected = [
        row
        for row in batch_join(left, right, BEFORE, AFTER, how)
        if not all(one is None or one in known for one, known in zip(row, early, strict=True))
    ]
    # A row from before it that has no partner, or only such ones, was let out alone by whoever was before.
    expected = [
        row for row in expected if None not in row or not any(o in k for o, k in zip(row, early, strict=True))
    ]
    assert Counter(found) == Counter(expected)


def test_picks_that_wait_are_all_its_own(tmp_path: Path) -> None:
    spec = IntervalSpec(BEFORE, AFTER, "left", "one", "nearest")
    join, left, right, early = filled(tmp_path, spec, whole=True)
    found, open_at = [], 0
    for start, end in offsets(join, [2]):
        found += joined(join, start, end)
        if (end.left, end.right) == join.filled:
            open_at = end.right_time - AFTER
    times = {row[2]: row[1] for row in left if row[0] is not None and row[1] is not None}
    expected = [
        row
        for row in batch_join(left, right, BEFORE, AFTER, "left", "one", "nearest")
        if row[0] not in early[0] or times.get(row[0], open_at - 1) >= open_at
    ]
    assert Counter(found) == Counter(expected)
    assert Category.open(join.home, "left").next_commit() > join.filled[0]


@pytest.mark.parametrize("how", ["inner", "left"])
def test_why_says_what_came_out_of_it(tmp_path: Path, how: str) -> None:
    """Not what the rows that filled it met among each other."""
    join, left, _, early = filled(tmp_path, IntervalSpec(BEFORE, AFTER, how), whole=False)  # type: ignore[arg-type]
    found = [row for start, end in offsets(join, [2, 3]) for row in joined(join, start, end)]
    said, before = [], set()
    for key in {str(row[0]) for row in left if row[0] is not None}:
        for fate in why(join, [key]).fates:
            said += [(fate.left.values["id"], match.right.values["id"]) for match in fate.matches]
            if "came_before" in fate.doubts:
                before.add(fate.left.values["id"])
                assert fate.miss is None, "nobody knows here what the join before has found"
    assert Counter(said) == Counter(row for row in found if None not in row)
    assert before == early[0] & {row[2] for row in left if row[0] is not None}
