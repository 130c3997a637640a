"""Law: a value read from JSON has the type and range that its writer guarantees, or raises ValueError.

A checksum proves that a file is what was written. These functions check that what was written makes sense.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def whole(value: Any, low: int = 0, high: int = LARGEST) -> int:
    """A whole number. True and false do not count as numbers."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{value!r} is not a whole number from {low} to {high}")
    return value


def time_us(value: Any) -> int:
    """Microseconds, of either sign."""
    return whole(value, SMALLEST)


def real(value: Any, low: float = 0.0) -> float:
    if type(value) not in (int, float) or not low <= value < math.inf:
        raise ValueError(f"{value!r} is not a number of at least {low}")
    return value  # type: ignore[no-any-return]


def flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} is not text")
    return value


def file_name(value: Any) -> str:
    """The name of a file in the same folder. It cannot lead anywhere else."""
    if not text(value) or "/" in value or "\0" in value or value.startswith("."):
        raise ValueError(f"{value!r} is not a file name")
    return value  # type: ignore[no-any-return]


def items(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError(f"{value!r} is not a list")
    return value


def fields(value: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
    """An object; with `names`, one that has exactly these."""
    if type(value) is not dict or (names is not None and value.keys() != set(names)):
        raise ValueError(f"an object with {'other' if names else 'named'} fields was expected")
    return value
