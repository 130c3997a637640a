"""A limit of records per second, as an allowance that grows with time and never beyond one second's."""

from __future__ import annotations

from collections.abc import Callable


class Allowance:
    """Without a rate there is no limit."""

    def __init__(self, per_s: int | None, clock: Callable[[], float]) -> None:
        self._per_s, self._clock = per_s, clock
        self._left, self._at_s = 0.0, clock()

    def most(self, wanted: int) -> int:
        """How many of the wanted may be taken now."""
        if self._per_s is None:
            return wanted
        now_s = self._clock()
        self._left = min(float(self._per_s), self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        return min(wanted, int(self._left))

    def took(self, count: int) -> None:
        self._left -= count
