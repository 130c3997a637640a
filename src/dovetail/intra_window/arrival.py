"""Rows that come over time: each has a time of arrival, and the window's clock says which are there.

Law: a row is there from its time of arrival on, and stays; times ascend on both sides.

The data lie in memory from the start (section 4.2.2 of the paper): only the clock keeps them back. At rest is
no arrival at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from dovetail.errors import InputError
from dovetail.intra_window.kernels.packed import Int64s

_LONGEST_NAP_S = 0.005


class InMotion:
    """Arrival by the clock: times are microseconds since `start` was called."""

    def __init__(
        self,
        left_us: Int64s,
        right_us: Int64s,
        clock: Callable[[], float] = time.perf_counter,
        nap: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, times in (("left", left_us), ("right", right_us)):
            if len(times) and bool((np.diff(times) < 0).any()):
                raise InputError(f"the {name} times of arrival go back", expected="ascending times")
        self.times = (left_us, right_us)
        self._clock, self._nap = clock, nap
        self._started = clock()

    def start(self) -> None:
        self._started = self._clock()

    def now_us(self) -> int:
        return int((self._clock() - self._started) * 1e6)

    def ready(self, side: int, start: int, stop: int) -> int:
        if start == stop:
            return stop
        times = self.times[side]
        now = self.now_us()
        if times[stop - 1] <= now:
            return stop
        return start + int(np.searchsorted(times[start:stop], now, side="right"))

    def wait(self, left: int, right: int) -> None:
        ahead = [times[at] for times, at in zip(self.times, (left, right), strict=True) if at < len(times)]
        if ahead:
            self._until(int(min(ahead)))

    def wait_for_all(self) -> None:
        """Until the last row of the window is there: what the lazy joins do."""
        last = [int(times[-1]) for times in self.times if len(times)]
        self._until(max(last, default=0))

    def _until(self, when_us: int) -> None:
        while (left_us := when_us - self.now_us()) > 0:
            self._nap(min(_LONGEST_NAP_S, left_us / 1e6))
