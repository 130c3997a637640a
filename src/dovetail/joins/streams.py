"""What a join step is given: the new rows of both sides, and the two stream times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Held
from dovetail.kernels.ring import more_of, tag_of
from dovetail.model.time_codes import FIRST_TIME

Int64s = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).min)
"""As a stream time: nothing has come yet."""
ENDED = int(np.iinfo(np.int64).max)
"""As a stream time: nothing will come any more."""


class Arrivals(NamedTuple):
    """New rows of one side, in log order."""

    hash: Int64s
    time: Int64s
    row: Int64s


class Times(NamedTuple):
    """The two stream times."""

    left: int
    right: int

    def after(self, before: Times) -> Times:
        """A stream's time does not go back."""
        return Times(max(self.left, before.left), max(self.right, before.right))


def usable(arrivals: Arrivals, *, picks: bool = True) -> tuple[Held, Int64s]:
    """Rows that may match, and the row numbers of those that cannot. `picks`: they may choose partners."""
    usable = arrivals.time >= FIRST_TIME
    if usable.all():
        void = np.empty(0, np.int64)
    else:
        void = arrivals.row[~usable]
        arrivals = Arrivals(*(column[usable] for column in arrivals))
    hashes, times, rows = (np.ascontiguousarray(column) for column in arrivals)
    held = Held.fresh(tag_of(hashes), times, rows, more=more_of(hashes))
    return (held._replace(best_time=held.best_time.copy()) if picks else held), void


def minus(time: int, distance_us: int) -> int:
    """Stream times at their ends stay there."""
    return time if time in (NEVER, ENDED) else time - distance_us
