"""What a sliding-window join must put out, written a second time and as plainly as possible. It imports
nothing of ours.

A stream of rows is a list of `Arrival`; a window is ("rows", n) or ("time", length). Of two rows, the earlier
must be in its stream's window when the later comes: among the last n rows of its stream, or at most `length`
older.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Row = dict[str, Any]
Window = tuple[str, int]


class Arrival(NamedTuple):
    side: str  # left or right
    time: int
    row: Row


def in_window(window: Window, older: int, newer: int, rows_after: int) -> bool:
    """`rows_after`: rows of the older row's own stream that came after it, up to now."""
    kind, size = window
    return rows_after < size if kind == "rows" else newer - older <= size


def pairs(
    arrivals: list[Arrival], left: Window, right: Window, holds: Callable[[Row, Row], bool]
) -> list[tuple[int, int]]:
    """Numbers of left and right rows that meet, in the order in which the later of them came, then by the age
    of the earlier."""
    came: dict[str, list[Arrival]] = {"left": [], "right": []}
    windows = {"left": left, "right": right}
    found = []
    for arrival in arrivals:
        other = "right" if arrival.side == "left" else "left"
        number = len(came[arrival.side])
        for older, met in enumerate(came[other]):
            rows_after = len(came[other]) - 1 - older
            if not in_window(windows[other], met.time, arrival.time, rows_after):
                continue
            if arrival.side == "left" and holds(arrival.row, met.row):
                found.append((number, older))
            elif arrival.side == "right" and holds(met.row, arrival.row):
                found.append((older, number))
        came[arrival.side].append(arrival)
    return found
