"""A sliding-window join, as data: windows by count or by time, a predicate of ranges and a rest, ordering of
results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dovetail.errors import SettingError

Design = Literal["kang", "cell", "handshake", "low_latency_handshake", "split"]
"""Whose way of sharing the work: see `sliding/`."""

Access = Literal["auto", "scan", "cells", "runs"]
"""How a core finds the rows in a box: it looks at all; it looks into cells of a grid, or of a hash; it
searches sorted runs."""

Order = Literal["none", "outer", "inner"]
"""`outer`: results of a row come before those of later rows of its stream; `inner`: and those of one row by
the age of its partners, oldest first."""


@dataclass(frozen=True)
class Window:
    """The last `rows` rows of a stream, or those of the last `time` units before the row that looks (both
    ends included)."""

    rows: int | None = None
    time: int | None = None

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.time is None):
            raise SettingError(
                "a window has either a number of rows or a length of time",
                where=f"rows={self.rows}, time={self.time}",
                expected="one of the two",
                hint="Window(rows=1_000_000) or Window(time=600_000_000)",
            )
        size = self.rows if self.rows is not None else self.time
        if size is None or size < 0:
            raise SettingError(
                "a window cannot be smaller than nothing",
                where=f"rows={self.rows}, time={self.time}",
                expected="0 or more",
                hint="a window of 0 rows meets nobody; one of time 0 meets rows of the same instant",
            )


@dataclass(frozen=True)
class Range:
    """`right + low <= left <= right + high`; None where there is no bound, open where a bound itself does not
    count."""

    left: str
    right: str
    low: float | int | None
    high: float | int | None
    low_open: bool = False
    high_open: bool = False

    @property
    def equality(self) -> bool:
        return self.low == 0 and self.high == 0 and not (self.low_open or self.high_open)

    @property
    def band(self) -> bool:
        """Both ends are bounded, and not to a single value."""
        return self.low is not None and self.high is not None and self.low < self.high


@dataclass(frozen=True)
class Predicate:
    """All of the ranges hold, and so does the rest: an expression in Python over `left.column` and
    `right.column`."""

    ranges: tuple[Range, ...] = ()
    rest: str | None = None
