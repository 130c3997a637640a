"""Law: a value read from JSON is of the kind and within the bounds that its writer keeps to, or a ValueError.

A checksum says that a file is what was written; these say that what was written makes sense.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def whole(value: Any, low: int = 0, high: int = LARGEST) -> int:
    """A number without a fraction; true and false are none."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{value!r} is no whole number from {low} to {high}")
    return value


def time_us(value: Any) -> int:
    """Microseconds, of either sign."""
    return whole(value, SMALLEST)


def real(value: Any, low: float = 0.0) -> float:
    if type(value) not in (int, float) or not low <= value < math.inf:
        raise ValueError(f"{value!r} is no number from {low} on")
    return value  # type: ignore[no-any-return]


def flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} is no text")
    return value


def file_name(value: Any) -> str:
    """The name of a file beside others: it leads nowhere else."""
    if not text(value) or "/" in value or "\0" in value or value.startswith("."):
        raise ValueError(f"{value!r} is no file's name")
    return value  # type: ignore[no-any-return]


def items(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError(f"{value!r} is no list")
    return value


def fields(value: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
    """An object; with `names`, one that has exactly these."""
    if type(value) is not dict or (names is not None and value.keys() != set(names)):
        raise ValueError(f"an object with {'other' if names else 'named'} fields was expected")
    return value
