"""Deal rows out into partitions by bits of their keys: count, then move each row to its place.

Law: partitions hold the rows of the keys that `Cut` sends there, each once; a row is packed as it is moved.

A partition is `(key - base) * factor >> shift`, in 32 bits: with the golden factor the upper bits of the
spread key (partitions alike in size), with factor one a range of keys (partitions in key order).

Writing to many places at once is slow where there are more of them than cache lines and pages at hand. So
each partition has one line of its own in a small buffer, and full lines go to memory past the cache (software
write-combining).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, LOW, Int64s, UInt32s, UInt64s
from dovetail.kernels.flags import kernel
from dovetail.kernels.machine import LINE_WORDS, fence, stream_line

GOLDEN = np.uint64(0x9E3779B1)


class Cut(NamedTuple):
    """How keys are dealt out over `1 << bits` partitions."""

    base: np.uint64
    factor: np.uint64
    shift: np.uint64
    parts: int


def by_hash(bits: int) -> Cut:
    return Cut(np.uint64(0), GOLDEN, np.uint64(32 - bits), 1 << bits)


def by_range(least: int, most: int, bits: int) -> Cut:
    """Ranges of equal width, some `1 << bits` of them or fewer."""
    shift = max(0, (most - least).bit_length() - bits)
    return Cut(np.uint64(least), np.uint64(1), np.uint64(shift), ((most - least) >> shift) + 1)


@kernel
def _part(cut: Cut, key: np.uint64) -> Any:
    return np.int64((((key - cut.base) * cut.factor) & LOW) >> cut.shift)


@kernel
def histogram(keys: UInt32s, start: int, stop: int, cut: Cut, counts: Int64s) -> None:
    for row in range(start, stop):
        counts[_part(cut, np.uint64(keys[row]))] += 1


@kernel
def scatter(keys: UInt32s, start: int, stop: int, cut: Cut, begins: Int64s, out: UInt64s) -> None:
    """Move `keys[start:stop]`, packed, to `out`, those of partition p from `begins[p]` on."""
    # for row in range(start, stop): p = part(keys[row]); out[ends[p]] = pack(keys[row], row); ends[p] += 1
    ends = begins.copy()
    lines = np.empty(len(begins) * LINE_WORDS, np.uint64)
    for row in range(start, stop):
        key = np.uint64(keys[row])
        part = _part(cut, key)
        to = ends[part]
        ends[part] = to + 1
        lane = to & (LINE_WORDS - 1)
        lines[part * LINE_WORDS + lane] = (key << HALF) | np.uint64(row)
        if lane == LINE_WORDS - 1:
            line = to - lane
            if line >= begins[part]:
                stream_line(out, line, lines, part * LINE_WORDS)
            else:
                for at in range(begins[part], to + 1):
                    out[at] = lines[part * LINE_WORDS + (at & (LINE_WORDS - 1))]
    for part in range(len(begins)):
        for at in range(max(begins[part], ends[part] & ~(LINE_WORDS - 1)), ends[part]):
            out[at] = lines[part * LINE_WORDS + (at & (LINE_WORDS - 1))]
    fence()
