"""Compile every kernel of a join once, so that the first join finds the machine code on disk: `python -m
dovetail.engine.warm`."""

from __future__ import annotations

import numpy as np

from dovetail.joins.theta.kernels import band
from dovetail.joins.windowed.kernels import copies
from dovetail.joins.windowed.kernels.sessions import sessions
from dovetail.kernels import frequent, gather, pick, ring, xxhash64


def warm() -> None:
    """Call each kernel with the types it has in a join."""
    none = np.empty(0, np.int64)
    tags, flags = np.empty(0, np.uint32), np.empty(0, np.bool_)
    capacity = ring.BLOCK_ROWS
    arrays = ring.Ring(
        np.empty(ring.META_FIELDS, np.int64),
        np.empty(ring.heads_for(capacity), np.uint32),
        np.empty(capacity // ring.BLOCK_ROWS, np.int64),
        np.empty(capacity // ring.BLOCK_ROWS, np.int64),
        np.empty(capacity, ring.ENTRY),
        none,
        none,
    )
    ring.clear(arrays)
    more = np.empty(0, np.uint16)
    ring.insert(arrays, tags, more, none, none, flags)
    ring.choose(arrays, none, none, none)
    ring.stamp(arrays, 0)
    ring.probe(arrays, tags, more, none, -1, 1)
    ring.find(arrays, tags, none)
    ring.crowded(arrays, tags, 1)
    ring.expire(arrays, 0)
    ring.kill(arrays, none)
    ring.mark(arrays, none)
    ring.live_slots(arrays)
    ring.newest_slots(arrays, 0)
    ring.intact(arrays)
    ring.refill(arrays, arrays)
    ring.shift(arrays, arrays)
    ring.rows_at(arrays, none)
    ring.tags_at(arrays, none)
    ring.more_at(arrays, none)
    hashes = np.empty(0, np.uint64)
    xxhash64.hash_longs(hashes, hashes)
    xxhash64.hash_ints(tags, hashes)
    xxhash64.hash_bytes(np.empty(0, np.uint8), np.zeros(1, np.int64), hashes)
    frequent.frequent(none)
    pieces = np.empty(0, np.int32)
    gather.locate(none, 0, none, pieces, none, pieces, none, 0, flags)
    for width in (1, 2, 4, 8):
        gather.fixed(none, pieces, none, np.empty(0, f"u{width}"))
    gather.validity(none, pieces, none, np.empty(0, np.uint8))
    gather.text_ends(none, pieces, none, none)
    gather.texts(none, none, pieces, none, none, 0)
    bounds = np.empty((1, 0), np.int64)
    band.in_band(none, none, bounds, bounds, bounds)
    copies.in_windows(tags, none, none, 2, 1, 0, 0)
    copies.labels(tags, none, 0)
    copies.mark(none, 0, flags)
    sessions(none, none, 1, 1)
    pick.prefer(pick.NEAREST, none, none, none, none, none, none)
    pick.replace(none, none, none, none, none)


if __name__ == "__main__":
    warm()
