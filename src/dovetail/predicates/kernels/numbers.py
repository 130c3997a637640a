"""What numbers mean inside compiled conditions, and how a condition's source becomes a function.

What cannot be computed (a sum that leaves 64 bits, a division by zero) is null, and null is not true.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.kernels.flags import kernel

SURELY_FITS, SURELY_NOT = 9.2e18, 9.3e18


@kernel
def fits(rough: float, result: int) -> bool:
    """Whether a whole result is the true one, going by the same in floating point. What leaves 64 bits by
    a little comes back with the other sign."""
    size = abs(rough)
    return size < SURELY_FITS or (size < SURELY_NOT and (result < 0) == (rough < 0))


@kernel
def sum_fits(first: int, second: int, result: int) -> bool:
    """A sum that leaves 64 bits has another sign than both its parts."""
    return ((first ^ result) & (second ^ result)) >= 0


@kernel
def difference_fits(first: int, second: int, result: int) -> bool:
    return ((first ^ second) & (first ^ result)) >= 0


@kernel
def remainder(first: np.int64, second: np.int64) -> np.int64:
    """With the sign of the dividend; `second` is not zero."""
    if second == -1:
        return np.int64(0)
    rest = first % second
    if rest != 0 and (first < 0) != (second < 0):
        rest -= second
    return rest


@kernel
def real_less(first: float, second: float) -> bool:
    """NaN is larger than any other number."""
    return first < second or (first == first and second != second)  # noqa: PLR0124


@kernel
def real_equal(first: float, second: float) -> bool:
    return first == second or (first != first and second != second)  # noqa: PLR0124


@kernel
def whole(value: float) -> np.int64:
    """A rounded number as a whole one, where it fits."""
    return np.int64(value) if abs(value) < SURELY_FITS else np.int64(0)


@kernel
def pick(flag: bool, first: Any, second: Any) -> Any:
    """A function and not an expression: the compiler's time grows steeply with the branches of one
    function."""
    return first if flag else second


@kernel
def floor_divided(first: np.int64, second: np.int64) -> np.int64:
    """As Python's `//`. `second` is not zero, and the quotient fits."""
    return np.int64(-first) if second == -1 else np.int64(first // second)


@kernel
def floor_remainder(first: np.int64, second: np.int64) -> np.int64:
    """As Python's `%`, with the sign of the divisor; `second` is not zero."""
    return np.int64(0) if second == -1 else np.int64(first % second)


_KNOWN: dict[str, Any] = {
    "np": np,
    "SURELY_FITS": SURELY_FITS,
    **{
        function.__name__: function
        for function in (
            pick,
            fits,
            sum_fits,
            difference_fits,
            remainder,
            real_less,
            real_equal,
            whole,
            floor_divided,
            floor_remainder,
        )
    },
}


def function_of(source: str, name: str, constants: tuple[tuple[str, int | float], ...], **known: Any) -> Any:
    """The function of that name that a source defines. Whole constants are int64, others float64: the source
    calls them by name. No word of a source is a user's: it is made from a checked tree."""
    names = {**_KNOWN, **known}
    for constant, value in constants:
        names[constant] = np.int64(value) if isinstance(value, int) else np.float64(value)
    exec(source, names)
    return names[name]
