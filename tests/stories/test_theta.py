"""Joins by a condition, in stories. A row is `value:time`; values at most 1 apart match."""

from __future__ import annotations

import pytest

from dovetail.model.theta import Theta
from laws.theta import Tasks, band, counting
from stories.telling import Story
from streams import Mode, Step

NEAR = Theta((band(-1, 1),))
INNER, LEFT, FULL = (Mode(how, "all", "first") for how in ("inner", "left", "full"))
TIMED = {
    "values in the band match, within the bounds of time": (
        INNER,
        """
        l 5:10                  |
        r 6:11 7:11             | 5:10+6:11
        r 5:14                  |
        """,
    ),
    "a value of one row may be in the bands of many": (
        INNER,
        """
        r 4:10 5:10 6:10 7:10   |
        l 5:10                  | 5:10+4:10 5:10+5:10 5:10+6:10
        """,
    ),
    "a lone left row comes out when time has passed its window": (
        LEFT,
        """
        l 5:10                  |
        r 8:12                  |
        r 90:14                 | 5:10+-
        """,
    ),
    "a full join lets lone rows of both sides out, each at the end of its own window": (
        FULL,
        """
        l 5:10                  |
        r 6:11 9:11             | 5:10+6:11
        l 50:20                 | -+9:11
        r 80:30                 | 50:20+-
        end                     | -+80:30
        """,
    ),
    "a right row that was seen but not picked comes out alone": (
        Mode("full", "one", "nearest"),
        """
        l 5:10                  |
        r 5:13                  |
        r 6:11                  |
        r 90:14                 | 5:10+6:11
        end                     | -+5:13 -+90:14
        """,
    ),
    "match one, nearest is nearest in time, not in value": (
        Mode("left", "one", "nearest"),
        """
        l 5:10                  |
        r 5:13                  |
        r 6:11                  |
        r 90:14                 | 5:10+6:11
        """,
    ),
}
COUNTED = {
    "a row sees the last two of the other side, whatever their times": (
        INNER,
        """
        r 5:0                   |
        r 5:900                 |
        l 5:1                   | 5:1+5:0 5:1+5:900
        r 90:1                  |
        l 5:2                   | 5:2+5:900
        """,
    ),
    "a left row is open until two more have entered after it": (
        LEFT,
        """
        l 5:0                   |
        l 50:0                  |
        l 60:0                  | 5:0+-
        r 5:0                   |
        r 50:0                  | 50:0+50:0
        """,
    ),
    "in a full join a lone right row comes out when two more have entered after it": (
        FULL,
        """
        r 5:0                   |
        r 50:0                  |
        l 50:0                  | 50:0+50:0
        r 60:0                  | -+5:0
        r 61:0                  |
        end                     | -+60:0 -+61:0
        """,
    ),
}


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("name", TIMED)
def test_story_of_event_time(name: str, tasks: int) -> None:
    mode, text = TIMED[name]
    join = Tasks((3, 3), mode, NEAR, tasks)
    Story(text).check(lambda new: join.timed(*new))


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("name", COUNTED)
def test_story_of_the_last_rows(name: str, tasks: int) -> None:
    mode, text = COUNTED[name]
    join = Tasks((0, 0), mode, counting(NEAR, 2, 2), tasks)

    def play(new: Step) -> list:
        turns = [("left", new.left), ("right", new.right)]
        return [row for part in join.parts(turns, new.until) for row in part]

    Story(text).check(play)
