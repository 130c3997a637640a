"""Sessions of sorted rows: one pass.

Law: of rows sorted by key and time, a row begins a session if it is the first of its key, comes more than
`gap` after the one before, or more than `longest` after the first of the session it would be in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]


@kernel
def sessions(keys: Int64s, times: Int64s, gap: int, longest: int) -> tuple[Int64s, Int64s, Int64s]:
    """The number of every row's session, and the times of each session's first and last row."""
    count = len(keys)
    number = np.empty(count, np.int64)
    first = np.empty(count, np.int64)
    last = np.empty(count, np.int64)
    found = -1
    for i in range(count):
        if (
            i == 0
            or keys[i] != keys[i - 1]
            or times[i] - times[i - 1] > gap
            or times[i] - first[found] > longest
        ):
            found += 1
            first[found] = times[i]
        number[i] = found
        last[found] = times[i]
    return number, first[: found + 1].copy(), last[: found + 1].copy()
