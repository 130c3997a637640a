"""Law: a window closes at the first commit after which stream time has come to its end, and holds the rows of
the commits up to that one that were on time for it; all other rows of it are late.

With `p[n]` the stream time after commit `n`, for a row of commit `n` and a tumbling or hopping window:

    late     p[n-1] >= end
    closed   by a step over the commits a to b-1:  p[a-1] < end <= p[b-1], and not late

Both depend on the log only, so the cut into steps changes nothing. A row of a hopping stream may be late for
one of its windows and counted in another.

A row is late for its session if its time is below `p[n-1]`. So no row that is on time touches a session that
has closed: that ended at or before `p[n-1]`, and rows merge only if they are less than the gap apart. A
session closes when `p` has come to `last + gap`.

Cost: fixed windows look at each new row, and at the rows of closing windows once more. Sessions sort all rows
that may be in an open session, by key and time, in every step that closes any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.model.time_codes import FIRST_TIME
from dovetail.model.time_window import TimeWindow

Int64s = NDArray[np.int64]


class RowWindows(NamedTuple):
    """Rows, by their position among those given, each with a window. A row may be there several times."""

    row: Int64s
    start: Int64s
    end: Int64s

    def where(self, chosen: NDArray[np.bool_]) -> RowWindows:
        return RowWindows(*(column[chosen] for column in self))


NONE = RowWindows(*(np.empty(0, np.int64) for _ in range(3)))


def every_pair(window: TimeWindow, times: Int64s) -> RowWindows:
    """All fixed windows of each row. Rows without a usable time are in none."""
    rows = np.flatnonzero(times >= FIRST_TIME)
    # The window of a time close to the smallest number would begin below it.
    when = np.maximum(times[rows], FIRST_TIME + 2 * window.length_us)
    last = when - np.mod(when - window.start_us, window.every_us)
    steps = window.every_us * np.arange(window.windows_per_row, dtype=np.int64)
    starts = (last[:, np.newaxis] - steps).ravel()
    pairs = RowWindows(np.repeat(rows, len(steps)), starts, starts + window.length_us)
    # Where the slide does not divide the length, the first of the windows may end before the row.
    return pairs.where(pairs.end > np.repeat(when, len(steps)))


def closed(window: TimeWindow, times: Int64s, before: Int64s, after_us: int, upto_us: int) -> RowWindows:
    """What comes out of a step over which stream time goes from `after_us` to `upto_us`. `before`: for each
    row, stream time before its commit."""
    pairs = every_pair(window, times)
    return pairs.where((pairs.end > after_us) & (pairs.end <= upto_us) & (pairs.end > before[pairs.row]))


def late(window: TimeWindow, times: Int64s, before: Int64s) -> RowWindows:
    """Rows with the windows that had closed when they came. A session's row has the one it would have
    begun."""
    if window.is_session:
        rows = np.flatnonzero((times < before) & (times >= FIRST_TIME))
        return RowWindows(rows, times[rows], times[rows] + window.length_us)
    pairs = every_pair(window, times)
    return pairs.where(pairs.end <= before[pairs.row])


def sessions(gap_us: int, keys: Int64s, times: Int64s, before: Int64s) -> RowWindows:
    """The rows that were on time, each with its session. `keys`: a number for each row, equal where the keys
    are."""
    rows = np.flatnonzero((times >= FIRST_TIME) & (times >= before))
    if not len(rows):
        return NONE
    rows = rows[np.lexsort((times[rows], keys[rows]))]
    key, time = keys[rows], times[rows]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (key[1:] != key[:-1]) | (time[1:] >= time[:-1] + gap_us)
    first = np.flatnonzero(begins)
    number = np.cumsum(begins) - 1
    last = np.append(first[1:], len(rows)) - 1
    return RowWindows(rows, time[first][number], time[last][number] + gap_us)


def closed_sessions(
    gap_us: int, keys: Int64s, times: Int64s, before: Int64s, after_us: int, upto_us: int
) -> RowWindows:
    """What comes out of a step, of all rows that may be in a session that was open before it."""
    pairs = sessions(gap_us, keys, times, before)
    return pairs.where((pairs.end > after_us) & (pairs.end <= upto_us))
