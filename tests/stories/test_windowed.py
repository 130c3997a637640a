"""Joins within windows, in stories: windows of length 10, hopping every 5; sessions with a gap of 5."""

from __future__ import annotations

import pytest

from laws.algorithms import HASHINGS
from laws.windowed import WindowStep
from stories.telling import Story

TUMBLING, HOPPING, SESSION = ("tumbling", 10), ("hopping", 10, 5), ("session", 5, 100)
STORIES = {
    "a window is joined when both streams have passed its end": (
        TUMBLING,
        "inner",
        "lazy",
        """
        l a3  r a8      |
        l .10           |
        r .10           | a3+a8@0-10
        """,
    ),
    "rows of neighbouring windows do not match, however near": (
        TUMBLING,
        "left",
        "lazy",
        """
        l a9  r a10     |
        l .20  r .20    | a9+-@0-10
        """,
    ),
    "eager lets a pair out with its second row": (
        TUMBLING,
        "inner",
        "eager",
        """
        l a3            |
        r a8            | a3+a8@0-10
        """,
    ),
    "a row that comes when its window is over is alone in it": (
        TUMBLING,
        "left",
        "lazy",
        """
        r a8            |
        l .10  r .10    |
        l a9            | a9+-@0-10
        """,
    ),
    "hopping windows overlap: a pair comes out once for each that holds both": (
        HOPPING,
        "inner",
        "lazy",
        """
        l a6  r a8      |
        l .20  r .20    | a6+a8@0-10 a6+a8@5-15
        """,
    ),
    "a left row may be alone in one window and matched in another": (
        HOPPING,
        "left",
        "lazy",
        """
        l a6  r a12     |
        l .20  r .20    | a6+-@0-10 a6+a12@5-15
        """,
    ),
    "match one: a left row takes one partner in each of its windows, when that is over": (
        HOPPING,
        "full",
        "nearest",
        """
        l a6  r a1 a8   | -+a1@-5-5
        l .20  r .20    | a6+a8@0-10 a6+a8@5-15 -+a1@0-10
        """,
    ),
    "match one, first is the first to arrive, also in a session": (
        SESSION,
        "inner",
        "first",
        """
        r a4            |
        r a1            |
        l a3            |
        r .20  l .20    | a3+a4@1-9
        """,
    ),
    "a session grows with rows of either side that come within the gap": (
        SESSION,
        "inner",
        "lazy",
        """
        l a0            |
        r a4            |
        l a8            |
        r .20  l .20    | a0+a4@0-13 a8+a4@0-13
        """,
    ),
    "a pause longer than the gap ends a session": (
        SESSION,
        "left",
        "lazy",
        """
        l a0            |
        r a6            |
        l .20  r .20    | a0+-@0-5
        """,
    ),
    "every key has sessions of its own": (
        SESSION,
        "inner",
        "lazy",
        """
        l a0 b3         |
        r a5 b9         |
        l .30  r .30    | a0+a5@0-10
        """,
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    window, how, mode, text = STORIES[name]
    one = mode not in ("lazy", "eager")
    join = WindowStep(window, how, HASHINGS[0], "lazy" if one else mode, pick=mode if one else None)
    Story(text).check(join.step)
