"""Law: what is known of commits by their columns is what the commits say, however it was read."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dovetail.errors import LogTruncated
from dovetail.log import checkpoints, compaction, ledger
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.limits import Limits, set_limits

Fill = Callable[[int], Category]


@pytest.fixture
def fill(category: Category, put: Any, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """A category with that many commits, compacted as they came: many checkpoints of few commits."""
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=2, fan=3, recent=2))
    monkeypatch.setattr(ledger, "FAR", 0)

    def filled(commits: int) -> Category:
        rng = random.Random(commits)
        for number in range(commits):
            infos = [
                info
                for part in range(rng.randint(0, 2))
                for info in put.write(category, 100 * number + 10 * part, rng.randint(1, 9))
            ]
            category.append(infos, rejected=[category.write_rejected(["x"], "bad")])
            category.compact()
        return category

    return filled


def test_columns_say_what_commits_say(fill: Fill, forget: Callable[[], None]) -> None:
    category = fill(40)
    stop = category.next_commit()
    for start in (0, 1, 17, 37):
        forget()
        says_the_truth(category, start, stop)
        says_the_truth(category, start, stop - 2)
    forget()
    for end in range(stop - 20, stop + 1):  # read once, then extended
        says_the_truth(category, 3, end)
    says_the_truth(category, 0, stop)  # and further back than ever before


def says_the_truth(category: Category, start: int, stop: int) -> None:
    commits = category.commits(start, stop)
    known = category.range(start, stop)
    infos = [info for commit in commits for info in commit.segments]
    assert known.segment_rows.tolist() == [info.first_row for info in infos]
    assert known.infos(range(len(infos))) == infos
    assert known.next_row == commits[-1].next_row
    for since in (0, 1500, 2510, 10**6):
        timely = [one.number for one in commits if one.sketch.count and one.sketch.max_us >= since]
        assert category.first_with_time(start, stop, since) == min(timely, default=stop)
    middle = commits[len(commits) // 2].written_at_us
    written = [one.number for one in commits if one.written_at_us >= middle]
    assert category.first_written(start, stop, middle) == min(written, default=stop)
    for most in (0, commits[-1].stored_bytes, 3000, 10**9):
        sums = {one.number: sum(later.stored_bytes for later in commits[n:]) for n, one in enumerate(commits)}
        within = [number for number, size in sums.items() if size <= most]
        assert category.first_stored(start, stop, most) == min(within, default=stop)
    for count in (0, 1, 7, 10**6):
        last = [one.number for one in commits if one.next_row > known.next_row - count]
        assert category.first_of_last_rows(start, stop, count) == min(last, default=stop)


def test_there_are_few_of_them(fill: Fill) -> None:
    category = fill(60)
    spans = checkpoints.listed(category)
    assert (spans[0].first, spans[-1].stop) == (0, 58)
    assert all(one.stop == other.first for one, other in pairwise(spans))
    assert [span.stop - span.first for span in spans] == [18, 18, 18, 2, 2]


@pytest.mark.parametrize("damage", ["gone", "torn", "another's", "older release"])
def test_without_them_commits_are_read_and_they_are_made_again(
    fill: Fill, forget: Callable[[], None], damage: str
) -> None:
    category = fill(30)
    folder = Path(category.where) / checkpoints.FOLDER
    files = sorted(folder.iterdir())
    if damage == "gone":
        files[0].unlink()
    elif damage == "torn":
        files[0].write_bytes(files[0].read_bytes()[:-8])
    elif damage == "another's":
        files[1].write_bytes(files[0].read_bytes())
    else:
        shutil.rmtree(folder)
    forget()
    says_the_truth(category, 0, category.next_commit())
    if damage in ("gone", "older release"):
        for _ in range(8):
            forget()
            category.compact()
        spans = checkpoints.listed(category)
        assert (spans[0].first, spans[-1].stop) == (0, 28)


def test_they_go_with_their_commits(fill: Fill, forget: Callable[[], None]) -> None:
    category = fill(40)
    category.range(0, 40)
    category.set_reader("reader", 37)
    category.retain()
    assert all(span.stop > 37 for span in checkpoints.listed(category))
    for again in (False, True):
        with pytest.raises(LogTruncated):
            category.range(0, 40)
        if not again:
            forget()
    says_the_truth(category, 37, 40)


def test_limits_are_kept_by_columns_and_by_commits_alike(fill: Fill, forget: Callable[[], None]) -> None:
    category = fill(40)
    commits = category.commits(0, 40)
    sizes = np.array([commit.stored_bytes for commit in commits])
    allowed = int(sizes[25:].sum())
    set_limits(category, Limits(None, allowed))
    assert category.retain() == 25
    forget()
    set_limits(category, Limits(0, None))
    category.retain(now_us=commits[30].written_at_us + 1)
    kept = min((one.number for one in commits if one.written_at_us > commits[30].written_at_us), default=39)
    assert category.first_commit() == kept
