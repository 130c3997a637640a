"""A sliding-window join as data: windows by count or time, a predicate of ranges and a rest, and an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dovetail.errors import SettingError

Design = Literal["kang", "cell", "handshake", "low_latency_handshake", "split"]
"""The published design that divides the work among cores: see `sliding/`."""

Access = Literal["auto", "scan", "cells", "runs"]
"""How a core finds the rows in a box: it scans all rows, looks into the cells of a grid or hash, or searches
sorted runs."""

Order = Literal["none", "outer", "inner"]
"""`outer`: results of a row come before those of later rows of its stream. `inner`: results of one row are
also ordered by the age of the partner, oldest first."""


@dataclass(frozen=True)
class Window:
    """The last `rows` rows of a stream, or those of the last `time` units before the row that looks (both
    ends included)."""

    rows: int | None = None
    time: int | None = None

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.time is None):
            raise SettingError(
                "a window needs either a number of rows or a length of time",
                where=f"rows={self.rows}, time={self.time}",
                expected="one of the two",
                hint="Window(rows=1_000_000) or Window(time=600_000_000)",
            )
        size = self.rows if self.rows is not None else self.time
        if size is None or size < 0:
            raise SettingError(
                "a window cannot have a negative size",
                where=f"rows={self.rows}, time={self.time}",
                expected="0 or more",
                hint="a window of 0 rows matches nothing; one of time 0 matches rows of the same instant",
            )


@dataclass(frozen=True)
class Range:
    """`right + low <= left <= right + high`. None: no bound. Open: the bound itself is excluded."""

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
    """All ranges hold, and so does the rest: a Python expression over `left.column` and `right.column`."""

    ranges: tuple[Range, ...] = ()
    rest: str | None = None
