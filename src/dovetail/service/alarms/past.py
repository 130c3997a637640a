"""What alarms need of an application's past: its last minutes, and a figure at this hour of the days before.

    days ago   7       6       5       4       3       2       1      now
             ──[──]────[──]────[──]────[──]────[──]────[──]────[──]────[]

Each span moves on with the clock, so from one look to the next only what has come into one of them is read,
and what has left is forgotten. Law: what is found is what reading all of the history would find.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from dovetail.service.alarms.look import RECENT_S, Usual

HOUR_S, DAY_S = 3_600.0, 86_400.0
DAYS = 7
FEWEST_DAYS = 2
"""For history, before anything is called unusual."""
Figures = tuple[float, dict[str, Any]]
Read = Callable[[str, float, float], Sequence[Figures]]
"""The figures of an application after a moment and up to another, in the order of time."""


class FigurePast:
    """For one application. `figure`: the one whose usual value is wanted."""

    def __init__(self, application: str, figure: str, read: Read) -> None:
        self._application, self._figure, self._read = application, figure, read
        self._seen_s: float | None = None
        self._recent: deque[Figures] = deque()
        self._days: list[deque[tuple[float, float]]] = [deque() for _ in range(DAYS)]

    def look(self, now_s: float) -> tuple[list[Figures], Usual | None]:
        """The last minutes, and what is usual at this hour; None if there are too few days."""
        if self._seen_s is not None and now_s < self._seen_s:  # the clock was set back
            self._seen_s = None
            self._recent.clear()
            self._days = [deque() for _ in range(DAYS)]
        self._recent.extend(self._entered(0, RECENT_S, now_s))
        _leave(self._recent, now_s - RECENT_S)
        for day, hour in enumerate(self._days, start=1):
            for at_s, figures in self._entered(day, HOUR_S, now_s):
                if figures.get(self._figure) is not None:
                    hour.append((at_s, figures[self._figure]))
            _leave(hour, _end_s(day, now_s) - HOUR_S)
        self._seen_s = now_s
        return list(self._recent), self._usual()

    def _entered(self, day: int, length_s: float, now_s: float) -> Sequence[Figures]:
        """What has come into a span since the last look."""
        until_s = _end_s(day, now_s)
        since_s = until_s - length_s
        if self._seen_s is not None:
            since_s = max(since_s, _end_s(day, self._seen_s))
        return self._read(self._application, since_s, until_s)

    def _usual(self) -> Usual | None:
        days = [median(value for _, value in hour) for hour in self._days if hour]
        if len(days) < FEWEST_DAYS:
            return None
        middle = median(days)
        return Usual(middle, max(abs(day - middle) for day in days))


def _end_s(day: int, now_s: float) -> float:
    """Where a span of some days ago ends: half an hour after this time of the day. Today's ends now."""
    return now_s - day * DAY_S + HOUR_S / 2 if day else now_s


def _leave(span: deque[Any], since_s: float) -> None:
    while span and span[0][0] <= since_s:
        span.popleft()
