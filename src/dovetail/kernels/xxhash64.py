"""Law: bit for bit the `xxhash64` of Spark SQL, so that a key has one hash whether the JVM or a task computes
it.

Spark hashes columns one after another, each with the hash so far as its seed; the first seed is 42. Integers,
dates and booleans are hashed as 32 bits, longs and timestamps as 64, floating-point numbers by their bits
with -0.0 as 0.0 and one NaN, strings and binary by their bytes (XXH64).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

SEED = 42
P1 = np.uint64(0x9E3779B185EBCA87)
P2 = np.uint64(0xC2B2AE3D27D4EB4F)
P3 = np.uint64(0x165667B19E3779F9)
P4 = np.uint64(0x85EBCA77C2B2AE63)
P5 = np.uint64(0x27D4EB2F165667C5)

UInt64s = NDArray[np.uint64]


@kernel
def _rotl(x: np.uint64, bits: int) -> np.uint64:
    return np.uint64((x << np.uint64(bits)) | (x >> np.uint64(64 - bits)))


@kernel
def _finish(h: np.uint64) -> np.uint64:
    h ^= h >> np.uint64(33)
    h *= P2
    h ^= h >> np.uint64(29)
    h *= P3
    return np.uint64(h ^ (h >> np.uint64(32)))


@kernel
def _long_round(h: np.uint64, value: np.uint64) -> np.uint64:
    return np.uint64(_rotl(h ^ (_rotl(value * P2, 31) * P1), 27) * P1 + P4)


@kernel
def _int_round(h: np.uint64, value: np.uint64) -> np.uint64:
    return np.uint64(_rotl(h ^ (value * P1), 23) * P2 + P3)


@kernel
def hash_longs(values: UInt64s, hashes: UInt64s) -> None:
    """Fold 64-bit values into the hashes so far, in place."""
    for i in range(len(values)):
        hashes[i] = _finish(_long_round(hashes[i] + P5 + np.uint64(8), values[i]))


@kernel
def hash_ints(values: NDArray[np.uint32], hashes: UInt64s) -> None:
    """Fold 32-bit values into the hashes so far, in place."""
    for i in range(len(values)):
        hashes[i] = _finish(_int_round(hashes[i] + P5 + np.uint64(4), np.uint64(values[i])))


@kernel
def _word(data: NDArray[np.uint8], at: int, size: int) -> np.uint64:
    value = np.uint64(0)
    for k in range(size):
        value |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return value


@kernel
def hash_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64], hashes: UInt64s) -> None:
    """Fold byte strings `data[offsets[i]:offsets[i + 1]]` into the hashes so far, in place."""
    for i in range(len(offsets) - 1):
        seed, at, end = hashes[i], offsets[i], offsets[i + 1]
        length = end - at
        if length >= 32:
            a, b, c, d = seed + P1 + P2, seed + P2, seed, seed - P1
            while at <= end - 32:
                a = _rotl(a + _word(data, at, 8) * P2, 31) * P1
                b = _rotl(b + _word(data, at + 8, 8) * P2, 31) * P1
                c = _rotl(c + _word(data, at + 16, 8) * P2, 31) * P1
                d = _rotl(d + _word(data, at + 24, 8) * P2, 31) * P1
                at += 32
            h = _rotl(a, 1) + _rotl(b, 7) + _rotl(c, 12) + _rotl(d, 18)
            for lane in (a, b, c, d):
                h = (h ^ (_rotl(lane * P2, 31) * P1)) * P1 + P4
        else:
            h = seed + P5
        h += np.uint64(length)
        while at <= end - 8:
            h = _long_round(h, _word(data, at, 8))
            at += 8
        if at <= end - 4:
            h = _int_round(h, _word(data, at, 4))
            at += 4
        while at < end:
            h = _rotl(h ^ (np.uint64(data[at]) * P5), 11) * P1
            at += 1
        hashes[i] = _finish(h)
