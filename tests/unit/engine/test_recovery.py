"""Law: the state at an offset is the same whether it was carried on, rebuilt from snapshot and log, or
regrouped."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from dovetail.engine import live_index
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.engine.store import read_totals
from dovetail.model.interval import IntervalSpec
from oracle import admissible, batch_join

from .workload import config, joined, offsets, random_rows, write_commits

BEFORE, AFTER, MAX_DELAY, BUCKETS = 120, 90, 60, 8

SPECS = [
    IntervalSpec(BEFORE, AFTER, how, match, pick)
    for how in ("inner", "left", "right", "full", "semi", "anti")
    for match, pick in (("all", "first"), ("one", "first"), ("one", "nearest"))
    if match == "all" or how not in ("semi", "anti")
]


def forget_index(index: Path) -> None:
    shutil.rmtree(index, ignore_errors=True)
    live_index.unmap_all()


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.how}-{s.match}-{s.pick}")
@pytest.mark.parametrize("recovery", ["live", "rebuilt", "regrouped", "retried"])
def test_the_result_does_not_depend_on_how_the_state_came(
    tmp_path: Path, spec: IntervalSpec, recovery: str
) -> None:
    rng = random.Random(f"{spec}")
    left, right = random_rows(rng, 150, MAX_DELAY), random_rows(rng, 150, MAX_DELAY)
    write_commits(tmp_path / "home", "left", left, rng, BUCKETS)
    write_commits(tmp_path / "home", "right", right, rng, BUCKETS)
    join = config(tmp_path / "home", tmp_path / "index", spec, BUCKETS, MAX_DELAY)
    tasks = [1, 3, 8, 2] if recovery == "regrouped" else [3]
    rows, steps, last = [], 0, None
    for start, end in offsets(join, tasks):
        if recovery == "rebuilt":
            forget_index(tmp_path / "index")
        made = joined(join, start, end)
        if (
            recovery == "retried"
        ):  # the same step again finds the index at its end: it must go back to the start
            assert Counter(joined(join, start, end)) == Counter(made)
        SnapshotFiles(join).drop(before=end.step)
        rows += made
        steps, last = steps + 1, end
    assert steps > 3
    assert last is not None
    assert last.ended
    totals = read_totals(join, last)
    assert (totals["open_rows"], totals["retained_rows"]) == (0, 0)
    assert (totals["left_in"], totals["right_in"]) == (len(left), len(right))
    assert totals["left_late"] == totals["right_late"] == 0
    if recovery == "rebuilt":
        assert totals["rebuilds"] > 0
    if (spec.match, spec.pick) == ("one", "first"):
        allowed = admissible(left, right, BEFORE, AFTER)
        pairs = [(one, other) for one, other in rows if one is not None and other is not None]
        assert Counter(one for one, _ in pairs) == Counter(row for row in allowed if allowed[row])
        assert all(other in allowed[one] for one, other in pairs)
    else:
        expected = batch_join(left, right, BEFORE, AFTER, spec.how, spec.match, spec.pick)
        assert Counter(rows) == Counter(expected)
