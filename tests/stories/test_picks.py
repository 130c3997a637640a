"""Picks by value, in stories: equal keys, right times from 3 before to 3 after the left one, one partner."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dovetail.model.interval import IntervalSpec, JoinType, ValuePick
from dovetail.model.theta import Expression
from laws.algorithms import HASHINGS
from laws.picking import DISTANCE, RIGHT, Picking
from stories.telling import Story

Asked = tuple[JoinType, ValuePick, Expression]
LARGEST: Asked = ("left", "max", RIGHT)
SMALLEST: Asked = ("left", "min", RIGHT)
STORIES: dict[str, tuple[Asked, str]] = {
    "the largest value, decided when the window closes": (
        LARGEST,
        """
        l a10               |
        r a11=5 a9=7        |
        r a12=6             |
        r .14               | a10+a9=7
        """,
    ),
    "the smallest value": (
        SMALLEST,
        """
        l a10               |
        r a11=5 a9=7        |
        r .14               | a10+a11=5
        """,
    ),
    "right rows may come first, and are picked by several left rows": (
        LARGEST,
        """
        r a10=5 a11=9       |
        l a8 a10            |
        r .14               | a8+a11=9 a10+a11=9
        """,
    ),
    "a larger value outside the window does not count": (
        LARGEST,
        """
        l a10               |
        r a13=1 a14=9       | a10+a13=1
        """,
    ),
    "of equal values the smallest event time, however they come": (
        LARGEST,
        """
        l a10               |
        r a12=5             |
        r a9=5 a11=5        |
        r .14               | a10+a9=5
        """,
    ),
    "of equal values and times the first in the log": (
        SMALLEST,
        """
        l a10               |
        r a12=5 a12=5.0     |
        r .14               | a10+a12=5
        """,
    ),
    "null loses against any value, to MAX": (
        LARGEST,
        """
        l a10               |
        r a8=? a12=-1       |
        r .14               | a10+a12=-1
        """,
    ),
    "null loses against any value, to MIN": (
        SMALLEST,
        """
        l a10               |
        r a8=? a12=1        |
        r .14               | a10+a12=1
        """,
    ),
    "where all are null there is a partner too: the one with the smallest event time": (
        LARGEST,
        """
        l a10               |
        r a12=? a9=?        |
        r .14               | a10+a9=?
        """,
    ),
    "NaN is larger than any other number, to MAX": (
        LARGEST,
        """
        l a10               |
        r a9=inf a12=nan    |
        r .14               | a10+a12=nan
        """,
    ),
    "NaN is larger than any other number, to MIN": (
        SMALLEST,
        """
        l a10               |
        r a9=nan a12=inf    |
        r .14               | a10+a12=inf
        """,
    ),
    "an expression over both rows picks another partner for each left row": (
        ("left", "min", DISTANCE),
        """
        l a10=5 a11=9       |
        r a10=1 a11=6 a12=10|
        r .15               | a10=5+a11=6 a11=9+a12=10
        """,
    ),
    "right rows that lose come out alone, if the join keeps them": (
        ("full", "max", RIGHT),
        """
        l a10               |
        r a11=5 a9=7        |
        end                 | a10+a9=7 -+a11=5
        """,
    ),
    "a left row without partners comes out alone": (
        LARGEST,
        """
        l a10 b10           |
        r b11=?             |
        r .14               | a10+- b10+b11=?
        """,
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    (how, pick, expression), text = STORIES[name]
    story = Story(text)
    spec = IntervalSpec(3, 3, how, "one", pick, picked_by=expression)
    columns = story.values["l"], story.values["r"]
    story.check(Picking(spec, HASHINGS[0], columns, pa.float64()).step)
