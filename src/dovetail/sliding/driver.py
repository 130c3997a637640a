"""The driver: gives rows their numbers and writes into each what came before it. Streams may interleave in
any way; windows go by the order in which rows are handed over here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.errors import InputError
from dovetail.model.sliding import MOST_ROWS
from dovetail.sliding.kernels.encode import number_rows, put_first_by_rows
from dovetail.sliding.kernels.join_core import CLOSE_BLOCK
from dovetail.sliding.kernels.layout import COARSER, FIRST, FLAGS, KIND, ROW, SEEN
from dovetail.sliding.topology import Messages, SlidingJob

Times = npt.NDArray[np.int64]
LEAST_TIME = -(2**63) + MOST_ROWS
"""What a window reaches back to is still a time."""


class Driver:
    """What has been handed over so far."""

    def __init__(self, job: SlidingJob, wants_first: bool) -> None:
        self._windows = (job.left, job.right)
        self._ordered = job.order != "none"
        self._wants_first = wants_first
        self.every = 1  # rows of a stream that share a punctuation
        self.coarser = 0  # how often the groups of punctuations within a probe are doubled
        self.time = int(np.iinfo(np.int64).min)
        self._rows, self._since_star = np.zeros(2, np.int64), np.zeros(2, np.int64)
        # Times of the last rows of each stream that a row of the other may still ask about, and the first
        # one's number.
        self._times: list[Times] = [np.empty(0, np.int64), np.empty(0, np.int64)]
        self._times_from = [0, 0]

    @property
    def rows(self) -> tuple[int, int]:
        return int(self._rows[0]), int(self._rows[1])

    def number(self, messages: Messages, times: Times) -> None:
        """Fill in what the driver knows of these rows, which come in this order."""
        if not len(times):
            return
        if times[0] < LEAST_TIME:
            raise InputError(
                f"the time {times[0]} is too far back",
                where="the first row",
                expected=f"{LEAST_TIME} or later",
                hint="use a coarser unit",
            )
        back = number_rows(
            messages, times, self._rows, self._since_star, self.every if self._ordered else 0, self.time
        )
        if back >= 0:
            before = times[back - 1] if back else self.time
            raise _goes_back(f"row {back} of the batch", times[back], before)
        self.time = int(times[-1])
        if self.coarser:
            messages[:, FLAGS] |= self.coarser << COARSER
        if self._wants_first:
            self._put_first(messages, times)

    def close_block(self, words: int) -> Messages | None:
        """The message that has results punctuated now, if rows came since the last punctuation."""
        if not self._ordered or not self._since_star.any():
            return None
        self._since_star[:] = 0
        message = np.zeros((1, words), np.int64)
        message[0, KIND], message[0, ROW] = CLOSE_BLOCK, self._rows.sum() - 1
        return message

    def _put_first(self, messages: Messages, times: Times) -> None:
        put_first_by_rows(messages, *(-1 if window.rows is None else window.rows for window in self._windows))
        kinds = messages[:, KIND]
        for side, window in enumerate(self._windows):
            if window.time is None:
                continue
            known = np.concatenate([self._times[side], times[kinds == side]])
            asking = kinds == 1 - side
            oldest = np.searchsorted(known, times[asking] - window.time) + self._times_from[side]
            messages[asking, FIRST] = np.minimum(oldest, messages[asking, SEEN])
            gone = int(np.searchsorted(known, self.time - window.time))
            self._times[side], self._times_from[side] = known[gone:], self._times_from[side] + gone


def interleaved(left: tuple[Messages, Times], right: tuple[Messages, Times]) -> tuple[Messages, Times]:
    """Rows of both streams in the order of their times, left first where those are the same. Each stream
    keeps its own order, by which the payload knows its rows: so it must be sorted already."""
    for side, (_, times) in (("left", left), ("right", right)):
        back = np.flatnonzero(times[1:] < times[:-1])
        if len(back):
            raise _goes_back(f"row {back[0] + 1} of the {side} batch", times[back[0] + 1], times[back[0]])
    messages = np.concatenate([left[0], right[0]])
    times = np.concatenate([left[1], right[1]])
    order = np.argsort(times, kind="stable")
    return messages[order], times[order]


def _goes_back(where: str, time: int, before: int) -> InputError:
    return InputError(
        "time goes back",
        where=f"{where}, at {time} after {before}",
        expected="rows in the order of their times, over both streams",
        hint="sort before pushing; for streams out of order use the interval join on Spark",
    )
