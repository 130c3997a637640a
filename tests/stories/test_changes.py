"""A join that is changed, in stories: equal keys, right times from 3 before to 3 after the left one. In the
line `change` the join becomes another one, and no row comes."""

from __future__ import annotations

import pytest

from change_oracle import ChangingJoin, Spec
from laws.algorithms import HASHINGS
from laws.changing import ChangingStep
from stories.telling import Story

INNER, LEFT, FULL, SEMI = (Spec(3, 3, how, "all", "first") for how in ("inner", "left", "full", "semi"))
NEAREST, FIRST = Spec(3, 3, "left", "one", "nearest"), Spec(3, 3, "left", "one", "first")
WIDER, NARROWER = LEFT._replace(before=8, after=8), LEFT._replace(after=1)
STORIES = {
    "narrower: a left row that is beyond its new end closes in the change": (
        LEFT,
        NARROWER,
        """
        l a10 b12       |
        r .12           |
        change          | a10+-
        r b13           | b12+b13
        """,
    ),
    "narrower: what has had a partner does not come out alone": (
        LEFT,
        NARROWER,
        """
        l a10           |
        r a12           | a10+a12
        change          |
        """,
    ),
    "narrower: a right row that is no longer needed goes, alone if it had no partner": (
        FULL,
        FULL._replace(before=1),
        """
        r a10 b10       |
        l a10           | a10+a10
        l .13           |
        change          | -+b10
        """,
    ),
    "wider: an open left row meets what had arrived in the part that is new": (
        LEFT,
        WIDER,
        """
        l a10           |
        r a9 a4 b4      | a10+a9
        change          | a10+a4
        r a18           | a10+a18
        """,
    ),
    "wider: right rows that had gone are read again": (
        LEFT,
        WIDER,
        """
        r a5            |
        l a10           |
        change          | a10+a5
        l a12           | a12+a5
        """,
    ),
    "wider: a left row that had closed stays closed": (
        LEFT,
        WIDER,
        """
        l a10           |
        r .14           | a10+-
        change          |
        r a15           |
        """,
    ),
    "wider: a right row that had come out alone comes out in pairs from then on": (
        FULL,
        FULL._replace(before=8, after=8),
        """
        r a5            |
        l .9            | -+a5
        change          |
        l a12           | a12+a5
        l .40           |
        """,
    ),
    "inner to left: an open row that had no partner comes out alone when it closes": (
        INNER,
        LEFT,
        """
        l a10 b10       |
        r a11           | a10+a11
        change          |
        r .14           | b10+-
        """,
    ),
    "inner to full: right rows that were there come out in pairs only": (
        INNER,
        FULL,
        """
        r a10           |
        change          |
        r b10           |
        l .14           | -+b10
        """,
    ),
    "left to semi: what has come out in pairs is done": (
        LEFT,
        SEMI,
        """
        l a10 b10       |
        r a10           | a10+a10
        change          |
        r a11 b11       | b10+-
        """,
    ),
    "all to one: a row that has had a partner is done": (
        LEFT,
        FIRST,
        """
        l a10 b10       |
        r a10           | a10+a10
        change          |
        r a11 b11       | b10+b11
        """,
    ),
    "nearest to first: the best so far comes out": (
        NEAREST,
        FIRST,
        """
        l a10           |
        r a13           |
        r a11           |
        change          | a10+a11
        r a10           |
        """,
    ),
    "nearest to latest: each row picks again among all that had arrived": (
        NEAREST,
        NEAREST._replace(pick="latest"),
        """
        l a10           |
        r a13           |
        r a11           |
        change          |
        r .14           | a10+a13
        """,
    ),
    "nearest to all: all that had arrived come out": (
        NEAREST,
        LEFT,
        """
        l a10           |
        r a13           |
        r a11           |
        change          | a10+a11 a10+a13
        r a10           | a10+a10
        """,
    ),
    "a smaller cap holds at once": (
        LEFT,
        LEFT._replace(left_cap=1),
        """
        l a10 a11       |
        change          | a10+-
        r a11           | a11+a11
        """,
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_story(story: str) -> None:
    old, new, text = STORIES[story]
    join, expected = ChangingStep(old, HASHINGS[0]), ChangingJoin(old)
    Story(text).check(join.step, lambda: join.change(new))
    Story(text).check(lambda step: expected.step(*step), lambda: expected.change(new))
