"""The interval join, in stories: equal keys, right times from 3 before to 3 after the left one."""

from __future__ import annotations

import pytest

from laws.algorithms import HASHINGS, IntervalStep
from stories.telling import Story
from streams import Mode, Window

INNER, LEFT, FULL = (Mode(how, "all", "first") for how in ("inner", "left", "full"))
STORIES = {
    "a pair comes out with its second row, whichever that is": (
        INNER,
        """
        l a10           |
        r a12           | a10+a12
        r b11           |
        l b10           | b10+b11
        """,
    ),
    "both ends of the window belong to it": (
        INNER,
        """
        l a10           |
        r a7 a13        | a10+a7 a10+a13
        r a6 a14        |
        """,
    ),
    "a left row has many partners, and a right row too": (
        INNER,
        """
        l a10 a11       |
        r a10 a12       | a10+a10 a10+a12 a11+a10 a11+a12
        """,
    ),
    "keys must be equal": (
        INNER,
        """
        l a10 b10       |
        r b10           | b10+b10
        """,
    ),
    "a left row waits until the right stream has passed its window": (
        LEFT,
        """
        l a10           |
        r .13           |
        r .14           | a10+-
        """,
    ),
    "a left row that has matched does not come out alone": (
        LEFT,
        """
        l a10           |
        r a11           | a10+a11
        r .14           |
        """,
    ),
    "a right row that comes after its left row was closed is too late": (
        LEFT,
        """
        l a10           |
        r .14           | a10+-
        r a10           |
        """,
    ),
    "a right row is kept until the left stream has passed it": (
        LEFT,
        """
        r a10           |
        l .13           |
        l a12           | a12+a10
        l .14           |
        l a11           |
        r .15           | a11+-
        """,
    ),
    "rows of one step see each other, however late they are": (
        LEFT,
        """
        l .50  r .50    |
        l a10  r a11    | a10+a11
        """,
    ),
    "a full join lets lone right rows out when no left row can reach them": (
        FULL,
        """
        r a10           |
        l .13           |
        l .14           | -+a10
        """,
    ),
    "the end of both streams closes everything": (
        FULL,
        """
        l a10           |
        r b10           |
        end             | a10+- -+b10
        """,
    ),
    "semi lets a left row out once, at its first partner": (
        Mode("semi", "all", "first"),
        """
        l a10           |
        r a10           | a10+-
        r a11           |
        end             |
        """,
    ),
    "anti lets a left row out when it can have no partner any more": (
        Mode("anti", "all", "first"),
        """
        l a10 b10       |
        r a10           |
        r .14           | b10+-
        """,
    ),
    "match one, first: the first partner that is found, and no other": (
        Mode("inner", "one", "first"),
        """
        l a10           |
        r a12           | a10+a12
        r a10           |
        """,
    ),
    "match one, nearest: decided when the window closes": (
        Mode("left", "one", "nearest"),
        """
        l a10           |
        r a12           |
        r a11           |
        r .14           | a10+a11
        """,
    ),
    "match one, latest and earliest go by event time, not by arrival": (
        Mode("left", "one", "latest"),
        """
        l a10           |
        r a13           |
        r a9            |
        r .14           | a10+a13
        """,
    ),
    "a right row may be the choice of many left rows": (
        Mode("left", "one", "earliest"),
        """
        l a10 a11       |
        r a9 a12        |
        r .15           | a10+a9 a11+a9
        """,
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    mode, text = STORIES[name]
    join = IntervalStep(Window(3, 3), mode, HASHINGS[0])
    Story(text).check(join.step)
