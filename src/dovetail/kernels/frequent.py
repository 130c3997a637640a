"""Which values come often: the counters of Misra and Gries (1982), in one pass and little memory.

Law: a value that makes up more than a share `1 / COUNTERS` of the column is among those returned, and its
count is short of the true one by at most that share of the rows, and never above it.

    a counter for each of a few values; a value without one takes a free counter,
    and where none is free every counter goes down by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

COUNTERS = 256
_SLOTS = 4 * COUNTERS


@kernel
def frequent(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Values that have a counter in the end, with their counts."""
    keys = np.zeros(_SLOTS, np.int64)
    counts = np.zeros(_SLOTS, np.int64)
    taken = 0
    for value in values:
        slot = _slot(keys, counts, value)
        if counts[slot] > 0:
            counts[slot] += 1
        elif taken < COUNTERS:
            keys[slot] = value
            counts[slot] = 1
            taken += 1
        else:
            taken = _lowered(keys, counts)
    kept = np.flatnonzero(counts)
    return keys[kept], counts[kept]


@kernel
def _slot(keys: NDArray[np.int64], counts: NDArray[np.int64], value: int) -> int:
    """Where the value is, or would be."""
    slot = (value ^ (value >> 32)) & (_SLOTS - 1)
    while counts[slot] > 0 and keys[slot] != value:
        slot = (slot + 1) & (_SLOTS - 1)
    return slot


@kernel
def _lowered(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Subtract one from every counter and insert those left again, so that chains have no holes.
    Returns how many are left."""
    kept = np.flatnonzero(counts > 1)
    old_keys = keys[kept]
    old_counts = counts[kept]
    counts[:] = 0
    for i in range(len(kept)):
        slot = _slot(keys, counts, old_keys[i])
        keys[slot] = old_keys[i]
        counts[slot] = old_counts[i] - 1
    return len(kept)
