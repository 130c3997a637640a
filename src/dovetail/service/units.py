"""Numbers as people read them: 1.24 M, 3.1 GiB, 00:01:07, and a row of bars for a history of rates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

_BARS = "▁▂▃▄▅▆"  # without the two highest, so that bars in neighbouring lines do not touch


def count(number: float) -> str:
    """Three significant digits with k, M, G; whole numbers below 10 000 as they are."""
    if abs(number) < 10_000 and number == int(number):
        return f"{int(number)}"
    for divisor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1, "")):
        if abs(number) >= divisor * 0.9995 or divisor == 1:
            return _three_digits(number / divisor) + unit
    raise AssertionError("unreachable")


def size(number_bytes: float) -> str:
    """Bytes in binary units."""
    value = float(number_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1023.5:
            return f"{int(value)} B" if unit == "B" else f"{_three_digits(value)} {unit}"
        value /= 1024
    return f"{_three_digits(value)} TiB"


def duration(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02d}:{minute:02d}:{second:02d}"


def span(length_us: int | None) -> str:
    """A length of time in its two largest units: 13 min 30 s, 2 d 4 h, 1.25 s, 300 µs; a dash if unknown."""
    if length_us is None:
        return "—"
    seconds = abs(length_us) / 1e6
    if seconds < 1e-3:
        return f"{abs(length_us)} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.4g} ms"
    if seconds < 60:
        return f"{seconds:.4g} s"
    parts: list[tuple[int, str]] = []
    rest = round(seconds)
    for unit, size_s in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        whole, rest = divmod(rest, size_s)
        parts += [(whole, unit)] if whole or parts else []
    return " ".join(f"{whole} {unit}" for whole, unit in parts[:2] if whole)


def instant(time_us: int | None) -> str:
    """A stream time in UTC; a dash before the first row, "ended" after the last."""
    if time_us is None or time_us <= -(1 << 62):
        return "—"
    if time_us >= 1 << 62:
        return "ended"
    try:
        return datetime.fromtimestamp(time_us / 1e6, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "out of range"


def share(rate: float | None) -> str:
    return "—" if rate is None else f"{rate * 100:.2f} %"


def sparkline(rates: Sequence[float], width: int) -> str:
    """The last `width` rates as bars from 0 to the largest of them; spaces to the left while there are
    fewer.
    """
    shown = list(rates)[-width:]
    top = max(shown, default=0.0)
    bars = [
        _BARS[min(len(_BARS) - 1, int(rate / top * len(_BARS)))] if top > 0 else _BARS[0] for rate in shown
    ]
    return "".join(bars).rjust(width)


def _three_digits(value: float) -> str:
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f}"
