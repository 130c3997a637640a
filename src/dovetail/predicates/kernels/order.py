"""Numbers on one line of integers: an index or a box over them only ever compares integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]
LEAST, MOST = -(2**63), 2**63 - 1


def _in_order(bits: Any, shift: Any, most: Any) -> Any:
    """The bits of a float that is not NaN, read as a signed integer, in the order of the floats: the larger a
    negative float's bits, the smaller it is. `shift` is the width less one, `most` all bits but the sign."""
    return bits ^ ((bits >> shift) & most)


in_order = kernel(_in_order)


def ordered_bits(values: NDArray[np.float64]) -> Int64s:
    """Integers in the order of these, none of which is NaN; 0.0 and -0.0 are one."""
    ordered: Int64s = _in_order((values + 0.0).view(np.int64), 63, np.int64(MOST))
    return ordered


@kernel
def moved(value: int, by: int) -> tuple[int, int]:
    """The sum, and 1 or -1 if it is above or below what 64 bits hold: then it stops there."""
    if by > 0 and value > MOST - by:
        return MOST, 1
    if by < 0 and value < LEAST - by:
        return LEAST, -1
    return value + by, 0


@kernel
def all_moved(values: Int64s, by: int) -> Int64s:
    sums = np.empty(len(values), np.int64)
    for n in range(len(values)):
        sums[n] = moved(values[n], by)[0]
    return sums
