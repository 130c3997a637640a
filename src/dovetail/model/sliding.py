"""A sliding-window join, as data: windows by count or by time, the predicate, the order of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dovetail.errors import SettingError
from dovetail.model.theta import Band, Expression

Design = Literal["kang", "cell", "handshake", "low_latency_handshake", "split"]
"""The published design that divides the work among cores: see `sliding/`."""

MOST_ROWS = 2**61
"""No window, and no number of rows, is larger."""

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
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MOST_ROWS:
            raise SettingError(
                f"a window cannot be {size!r} long",
                where=f"rows={self.rows}, time={self.time}",
                expected=f"a whole number from 0 to {MOST_ROWS}",
                hint="a window of 0 rows matches nothing; one of time 0 matches rows of the same instant",
            )


@dataclass(frozen=True)
class Predicate:
    """All conditions must hold. The bands among them also find candidates: each bounds one left column by one
    right column."""

    bands: tuple[Band, ...] = ()
    rest: tuple[Expression, ...] = ()
