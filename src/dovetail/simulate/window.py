"""A window by rows or by seconds, the same for both streams."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from dovetail.errors import SettingError

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_EXPECTED = "rows (131072, 2^17) or a length of time (30s, 15min, 1h)"


@dataclass(frozen=True)
class Window:
    """Exactly one of the two is set."""

    rows: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = [size for size in (self.rows, self.seconds) if size is not None]
        if len(given) != 1 or not 0 < given[0] < math.inf:
            raise SettingError(f"{self.rows} rows, {self.seconds} s: no window", expected=_EXPECTED)

    @property
    def timed(self) -> bool:
        return self.seconds is not None

    def held(self, rows_per_s: float, right_later_s: float = 0.0) -> tuple[float, float]:
        """Rows that the left and the right window hold when a row of the other stream scans them.

        A right stream that comes `right_later_s` after its event times finds left rows of its window and all
        that came since; left rows find that much less (active expiration goes by event times).
        """
        if self.seconds is None:
            return float(self.rows or 0), float(self.rows or 0)
        each = rows_per_s / 2
        return (
            each * max(0.0, self.seconds + right_later_s),
            each * max(0.0, self.seconds - right_later_s),
        )

    def __str__(self) -> str:
        if self.rows is not None:
            power = self.rows.bit_length() - 1
            return f"2^{power}" if power >= 4 and self.rows == 1 << power else f"{self.rows}"
        seconds = self.seconds or 0.0
        return f"{seconds / 60:g}min" if seconds >= 60 else f"{seconds:g}s"


def parse_window(text: str) -> Window:
    power = re.fullmatch(r"(\d{1,3})\^(\d{1,2})", text)
    if power:
        return Window(rows=int(power[1]) ** int(power[2]))
    length = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)(s|min|h)", text)
    if length:
        return Window(seconds=float(length[1]) * _UNITS[length[2]])
    if text.isdecimal():
        return Window(rows=int(text))
    raise SettingError(f"{text!r} is no window", where="--window", expected=_EXPECTED)
