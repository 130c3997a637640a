"""The driver: gives rows their numbers and tells each what came before it. Streams may interleave in any way; the order in
which rows are handed over here is the order of arrival that the windows go by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.errors import InputError
from dovetail.joins.sliding.topology import Job, Messages
from dovetail.kernels.sliding.layout import FIRST, FLAGS, KIND, ROW, SEEN, STAR, TIME, S
from dovetail.model.sliding import Window

Times = npt.NDArray[np.int64]


class Driver:
    """What has been handed over so far."""

    def __init__(self, job: Job, wants_first: bool) -> None:
        self._windows = (job.left, job.right)
        self._ordered = job.order != "none"
        self._wants_first = wants_first
        self.rows = [0, 0]
        self.time = np.iinfo(np.int64).min
        self.every = 1  # rows of a stream that share a punctuation
        self._since_star = [0, 0]
        self._times: list[Times] = [
            np.empty(0, np.int64),
            np.empty(0, np.int64),
        ]  # of the last rows of each side
        self._times_from = [0, 0]

    def number(self, messages: Messages, times: Times) -> None:
        """Fill in what the driver knows of these rows, which come in this order."""
        if len(times):
            if times[0] < self.time or (np.diff(times) < 0).any():
                back = int(np.argmax(np.diff(np.concatenate([[self.time], times])) < 0))
                raise InputError(
                    "time goes back",
                    where=f"row {back} of the batch, at {times[back]} after {times[back - 1] if back else self.time}",
                    expected="rows in the order of their times, over both streams",
                    hint="sort before pushing; for streams out of order use the interval join on Spark",
                )
            self.time = int(times[-1])
        right = messages[:, KIND] == S
        lefts_before = self.rows[0] + np.cumsum(~right) - ~right
        rights_before = self.rows[1] + np.cumsum(right) - right
        messages[:, ROW] = np.where(right, rights_before, lefts_before)
        messages[:, SEEN] = np.where(right, lefts_before, rights_before)
        messages[:, TIME] = times
        for side in (0, 1):
            of_side = right if side else ~right
            self._punctuate(messages, of_side, side)
            self.rows[side] += int(of_side.sum())
            if self._wants_first:
                self._keep_times(side, times[of_side])
        if self._wants_first:
            for side in (0, 1):
                of_side = right if side else ~right
                messages[of_side, FIRST] = self._first(
                    1 - side, messages[of_side, SEEN], times[of_side], self._windows[1 - side]
                )

    def _punctuate(self, messages: Messages, of_side: npt.NDArray[np.bool_], side: int) -> None:
        if not self._ordered:
            return
        rows = np.flatnonzero(of_side)
        since = self._since_star[side] + 1 + np.arange(len(rows))
        messages[rows[since % self.every == 0], FLAGS] |= STAR
        self._since_star[side] = (self._since_star[side] + len(rows)) % self.every

    def _keep_times(self, side: int, times: Times) -> None:
        self._times[side] = np.concatenate([self._times[side], times])
        length = self._windows[side].time
        gone = 0
        if length is not None:
            gone = int(np.searchsorted(self._times[side], self.time - length))
        else:
            gone = len(self._times[side])  # windows by count need no times
        # Those of this batch are still asked about: only what was there before goes.
        gone = min(gone, len(self._times[side]) - len(times))
        self._times[side] = self._times[side][gone:]
        self._times_from[side] += gone

    def _first(self, other: int, seen: Times, times: Times, window: Window) -> Times:
        """The oldest row of the other side that is visible."""
        if window.rows is not None:
            return np.maximum(seen - window.rows, 0)
        assert window.time is not None
        oldest = np.searchsorted(self._times[other], times - window.time) + self._times_from[other]
        return np.minimum(oldest, seen)
