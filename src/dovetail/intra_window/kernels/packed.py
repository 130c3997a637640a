"""A row of a window in one word: its key in the upper half, its number in the lower.

Law: words order by key, then by row number; two rows join if the upper halves of their words are equal.

Keys have 32 bits. Keys of 64 bits are narrowed first: to their distance from the smallest key where that fits
(then equal words are equal keys), else to a hash. Then a pair is only a candidate, and `verified` decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

UInt32s = NDArray[np.uint32]
UInt64s = NDArray[np.uint64]
Int64s = NDArray[np.int64]
Keys = NDArray[Any]

HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B1)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_MIX_AGAIN = np.uint64(0x94D049BB133111EB)


@kernel
def spread(key: np.uint64) -> np.uint64:
    """A bijection of 32 bits whose upper bits depend on all of the key's (Knuth's multiplicative hash)."""
    return (key * _GOLDEN) & LOW


@kernel
def pack(keys: UInt32s, start: int, stop: int, out: UInt64s) -> None:
    for row in range(start, stop):
        out[row] = (np.uint64(keys[row]) << HALF) | np.uint64(row)


@kernel
def pack_rows(keys: UInt32s, rows: UInt32s, direct: bool, out: UInt64s, at: int) -> None:
    """Chosen rows as words, from `out[at]` on. `direct`: `keys` holds the key of every row, else those of the
    chosen ones."""
    for i in range(len(rows)):
        out[at + i] = (np.uint64(keys[rows[i] if direct else i]) << HALF) | np.uint64(rows[i])


@kernel
def span(keys: Keys, start: int, stop: int) -> tuple[Any, Any]:
    """The smallest and the largest key of a stretch that is not empty."""
    least, most = keys[start], keys[start]
    for row in range(start, stop):
        least = min(least, keys[row])
        most = max(most, keys[row])
    return least, most


@kernel
def above(keys: UInt64s, base: np.uint64, start: int, stop: int, out: UInt32s) -> None:
    """Keys as their distance from `base`."""
    for row in range(start, stop):
        out[row] = np.uint32(keys[row] - base)


@kernel
def hashed(keys: UInt64s, start: int, stop: int, out: UInt32s) -> None:
    """Keys by 32 bits of a hash (the finalizer of SplitMix64)."""
    for row in range(start, stop):
        mixed = keys[row]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_AGAIN
        out[row] = np.uint32(mixed >> HALF)


@kernel
def verified(left_keys: UInt64s, right_keys: UInt64s, left: UInt32s, right: UInt32s, count: int) -> int:
    """Keep, in place and in order, the pairs whose real keys are equal; returns how many."""
    kept = 0
    for i in range(count):
        a, b = left[i], right[i]
        left[kept] = a
        right[kept] = b
        kept += left_keys[a] == right_keys[b]
    return kept


@kernel
def checksum(left: UInt32s, right: UInt32s, count: int) -> np.uint64:
    """A sum over pairs that does not depend on their order, and that looks at every one."""
    total = np.uint64(0)
    for i in range(count):
        mixed = ((np.uint64(left[i]) << HALF) | np.uint64(right[i])) * _MIX
        total += mixed ^ (mixed >> HALF)
    return total
