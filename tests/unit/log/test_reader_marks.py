"""Law: a mark never lies above what its reader needs, and lags behind it by little."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dovetail.engine.reader_marks import LAG, RENEWED_US, ReaderMarks
from dovetail.log.category import Category
from dovetail.log.compaction import SHAPE

APPLICATION = "app"
Filled = Callable[[int], Category]


class SteadyClock:
    def __init__(self) -> None:
        self.us = 0

    def __call__(self) -> int:
        return self.us


@pytest.fixture
def appended(category: Category, put: Any) -> Filled:
    """The category, with a number of commits, in a home that has the reader's application."""
    Path(category.home, "apps", APPLICATION).mkdir(parents=True)

    def filled(commits: int) -> Category:
        for number in range(commits):
            put(category, number, 1)
        return category

    return filled


def test_with_few_commits_a_mark_moves_at_every_step(appended: Filled) -> None:
    marks = ReaderMarks("join", APPLICATION, SteadyClock())
    category = appended(LAG)
    for needed in range(1, LAG):
        assert marks.move(category, needed)
        assert category.readers() == {"join": needed}


def test_with_many_it_moves_when_a_part_of_them_would_go(appended: Filled) -> None:
    marks = ReaderMarks("join", APPLICATION, SteadyClock())
    category = appended(10 * LAG)
    written = [needed for needed in range(4 * LAG) if marks.move(category, needed)]
    behind = [later - earlier for earlier, later in pairwise(written)]
    assert written[0] == 0
    assert min(behind) > 1
    assert max(behind) <= 10 + 1
    assert category.readers() == {"join": written[-1]}


def test_it_is_never_behind_by_more_than_a_bundle(appended: Filled) -> None:
    marks = ReaderMarks("join", APPLICATION, SteadyClock())
    category = appended(3 * SHAPE.span)
    assert marks.move(category, 0)
    assert marks.move(category, SHAPE.span + 1)


def test_it_is_renewed_while_nothing_moves(appended: Filled) -> None:
    clock = SteadyClock()
    marks = ReaderMarks("join", APPLICATION, clock)
    category = appended(3 * LAG)
    assert marks.move(category, 5)
    assert not marks.move(category, 5)
    category.drop_reader("join")
    clock.us += RENEWED_US
    assert marks.move(category, 6)
    assert category.readers() == {"join": 6}


def test_it_goes_back_at_once(appended: Filled) -> None:
    marks = ReaderMarks("join", APPLICATION, SteadyClock())
    category = appended(10 * LAG)
    assert marks.move(category, 9)
    assert marks.move(category, 8)
    assert category.readers() == {"join": 8}


def test_a_process_that_starts_writes_it(appended: Filled) -> None:
    clock = SteadyClock()
    category = appended(10 * LAG)
    for needed in (0, 1, 2):
        assert ReaderMarks("join", APPLICATION, clock).move(category, needed)
