"""The replay of the right window: what is read, and that room is made once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dovetail.joins import read_back
from dovetail.joins.buffer import Buffer, Held, in_memory
from dovetail.joins.interval.rebuild import rebuild
from dovetail.joins.kind import Saved, nobody
from dovetail.joins.snapshot import Snapshot
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.kernels.ring import Ring
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share

from .stepping import BUCKETS, Driven

SPEC = IntervalSpec(100, 100, "left")


def replayed(driven: Driven, left_time: int) -> list[int]:
    """Row numbers of the window when the left stream has come to a time."""
    state = JoinState.empty(SPEC)
    state.times = Times(left_time, left_time)
    stop = Category.open(driven.config.home, "right").next_commit()
    offset = JoinOffset(step=1, right=stop, left_time=left_time, right_time=left_time, tasks=1)
    saved = Saved(offset, [Snapshot(nobody(), np.empty(0, np.int64), {})], same=True)
    rebuild(driven.config, Share(0, 1, BUCKETS), state, saved)
    return sorted(state.right.held().row.tolist())


def test_what_lies_before_the_window_is_not_even_opened(tmp_path: Path) -> None:
    driven = Driven.make(tmp_path, SPEC)
    old = driven.append("right", ("a", 10), ("b", 99))
    driven.append("right", ("a", 50), ("b", 100), ("c", 300))
    for info in old.segments:
        (tmp_path / f"home/log/right/segments/{info.name}").unlink()
    assert replayed(driven, left_time=200) == [
        row for row, time in zip(range(2, 5), times(driven), strict=True) if time >= 100
    ]


def times(driven: Driven) -> list[int]:
    right = Category.open(driven.config.home, "right")
    (info,) = right.commit(1).segments
    return right.open_segment(info).mapped.column("_time").to_pylist()


def test_commits_are_read_some_at_a_time_and_those_before_the_window_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = Driven.make(tmp_path, SPEC)
    for number in range(24):
        driven.append("right", ("a", 10 * number), ("b", 10 * number + 1))
    whole = replayed(driven, left_time=200)
    asked: list[list[int]] = []
    picked = Category.picked

    def noted(self: Category, numbers: Sequence[int]) -> list[Commit]:
        asked.append(list(numbers))
        return picked(self, numbers)

    monkeypatch.setattr(Category, "picked", noted)
    monkeypatch.setattr(read_back, "AT_ONCE", 4)
    monkeypatch.setattr(read_back, "SAMPLED", 3)
    assert replayed(driven, left_time=200) == whole
    sample, *parts = asked
    assert (len(sample), [len(part) for part in parts]) == (3, [4, 4, 4, 2])
    assert [number for part in parts for number in part] == list(range(10, 24))


@pytest.mark.parametrize("tasks", [1, 4])
def test_a_sample_of_commits_is_enough_to_expect_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    driven = Driven.make(tmp_path, SPEC)
    for number in range(24):
        driven.append("right", *((f"{number}-{key}", number) for key in range(200)))
    monkeypatch.setattr(read_back, "SAMPLED", 3)
    expected = [
        read_back.WindowRows(
            driven.config, Share(task, tasks, BUCKETS), "right", JoinOffset(right=24), 12
        ).expected(lambda info: info.sketch.share_from(12))[1]
        for task in range(tasks)
    ]
    assert sum(expected) == pytest.approx(12 * 200, rel=0.02)
    assert max(expected) < 1.2 * 12 * 200 / tasks


def test_a_row_at_the_bound_stays(tmp_path: Path) -> None:
    driven = Driven.make(tmp_path, SPEC)
    driven.append("right", ("a", 100))
    assert replayed(driven, left_time=200) == [0]
    assert replayed(driven, left_time=201) == []


@pytest.mark.parametrize("expected_rows", [60_000, 100, 400_000])
def test_room_is_made_once_if_the_number_of_rows_is_known(expected_rows: int) -> None:
    made = []

    def allocate(side: str, capacity: int, with_best: bool) -> Ring:
        made.append(capacity)
        return in_memory(side, capacity, with_best)

    buffer = Buffer.empty("right", False, allocate)
    rows = np.arange(60_000)
    pieces = [Held.fresh(part.astype(np.uint32), part, part) for part in np.split(rows, 60)]
    buffer.load(pieces, expected_rows)
    assert buffer.held().row.tolist() == rows.tolist()
    if expected_rows >= 60_000:
        assert len(made) == 2, "the smallest, and the one that was asked for"
    buffer.insert(pieces[0])
    assert len(buffer.ring.entries) < 160_000, "what was expected and did not come is given back"
