"""What kinds of joins there are. A join is of exactly one kind, and says here what its kind means to others.

    IntervalJoin    equal keys, event times within bounds of each other
    WindowedJoin    equal keys, both rows in one tumbling, hopping or session window
    ThetaJoin       any condition, within bounds of event time or among the last rows

These are values: planner, coordinator and tasks read them. What a kind does is in `dovetail.joins`, one
package for each, with the same verbs (`joins/kinds.py`). A new kind is a module in `kinds/`, a package there,
and a line in `KINDS` and in the table of packages.
"""

from __future__ import annotations

from typing import Any

from dovetail.model.kinds.interval import IntervalJoin
from dovetail.model.kinds.kind import Apart, Fixed, LastRows, Since, needed_since
from dovetail.model.kinds.theta import MOST_TASKS, ThetaJoin
from dovetail.model.kinds.windowed import WindowedJoin
from dovetail.model.offset import NEVER, JoinOffset

__all__ = [
    "KINDS",
    "MOST_TASKS",
    "Apart",
    "Fixed",
    "IntervalJoin",
    "JoinKind",
    "LastRows",
    "Since",
    "ThetaJoin",
    "WindowedJoin",
    "kind_from_json",
    "kind_to_json",
    "needed_since",
    "promised_times",
]

JoinKind = IntervalJoin | WindowedJoin | ThetaJoin
KINDS: tuple[type[JoinKind], ...] = (IntervalJoin, WindowedJoin, ThetaJoin)


def promised_times(kind: JoinKind, at: JoinOffset) -> tuple[int, int] | None:
    """No row that a join puts out after this offset has a left or a right time below these, unless it was
    late. Such a row is either new, and at or above its stream's time, or held, and then it is one that the
    state still needs. None: rows are held by their number, however old they are."""
    needed = kind.needed(at)
    if isinstance(needed, LastRows):
        return None
    # After an end the streams start over, at any time.
    left_time, right_time = at.times
    if NEVER in (left_time, right_time):
        return NEVER, NEVER
    return min(left_time, needed.left_us), min(right_time, needed.right_us)


def kind_to_json(kind: JoinKind) -> dict[str, Any]:
    return {"kind": kind.tag, **kind.said()}


def kind_from_json(said: dict[str, Any]) -> JoinKind:
    for kind in KINDS:
        if kind.tag == said["kind"]:
            return kind.read(said)
    raise ValueError(f"{said['kind']!r} is not a kind of join")
