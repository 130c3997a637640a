"""Law: a ring is intact after anything that the kernels do to it, and no longer after a change to what it
would answer from."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dovetail.joins.buffer import Buffer, Held, in_memory
from dovetail.kernels import ring as rings
from dovetail.kernels.pick import NEAREST, prefer

ROWS = 3000


def random_rows(rng: np.random.Generator, count: int, first_row: int) -> Held:
    rows = np.arange(first_row, first_row + count, dtype=np.int64)
    return Held(
        rng.integers(0, 2**32, count, np.uint32),
        rng.integers(0, 1000, count) + first_row,
        rows,
        rng.random(count) < 0.3,
        rng.integers(0, 10, count),
        rng.integers(0, 10, count),
        rng.integers(0, 2**15, count, np.uint16),
    )


def used(seed: int, with_best: bool) -> Buffer:
    """A ring that has seen all there is: it has grown, wrapped around, and holds dead entries."""
    rng = np.random.default_rng(seed)
    buffer = Buffer.empty("left", with_best, in_memory)
    for first_row in range(0, 6 * ROWS, ROWS):
        slots = buffer.insert(random_rows(rng, ROWS, first_row))
        assert rings.intact(buffer.ring), seed
        some = rng.choice(slots, 50)
        rings.mark(buffer.ring, some)
        if with_best:
            times, ids = rng.integers(0, 1000, 50), rng.integers(0, 1000, 50)
            ring = buffer.ring
            rings.stamp(ring, prefer(NEAREST, some, times, times + 3, ids, ring.best_time, ring.best_row))
        rings.kill(buffer.ring, rng.choice(slots, 20))
        rings.mark(buffer.ring, some)
        rings.mark(buffer.ring, rng.choice(slots, 50))
        rings.expire(buffer.ring, first_row - ROWS // 2)
        assert rings.intact(buffer.ring), seed
    return buffer


def copied(ring: rings.Ring) -> rings.Ring:
    return rings.Ring(*(column.copy() for column in ring))


def answers(ring: rings.Ring) -> object:
    """All that a join can get from a ring."""
    slots = rings.live_slots(ring)
    rows, times, _ = rings.rows_at(ring, slots)
    found = rings.find(ring, rings.tags_at(ring, slots), rows)
    best = (ring.best_time[slots].tolist(), ring.best_row[slots].tolist()) if len(ring.best_row) else ()
    expired = rings.expire(copied(ring), int(np.median(times)))
    tags, more = rings.tags_at(ring, slots), rings.more_at(ring, slots)
    probed = rings.probe(ring, tags, more, times, -100, 100)
    return (
        ring.meta.tolist(),
        slots.tolist(),
        ring.entries[slots][["time", "row", "tag"]].tolist(),
        best,
        (
            found.tolist(),
            expired.tolist(),
            sorted(zip(*(column.tolist() for column in probed), strict=True)),
        ),
    )


@pytest.mark.parametrize("with_best", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_kernels_do(seed: int, with_best: bool) -> None:
    used(seed, with_best)


@pytest.mark.parametrize("with_best", [False, True])
def test_a_changed_bit_is_seen_or_changes_no_answer(with_best: bool) -> None:
    seed = 7
    ring, rng = used(seed, with_best).ring, random.Random(seed)
    right, seen = answers(ring), 0
    columns = [column for column in ring if len(column)]
    for number in range(1500):
        damaged = copied(ring)
        column = damaged[number % len(columns)].view(np.uint8)
        byte, bit = rng.randrange(len(column)), rng.randrange(8)
        column[byte] ^= 1 << bit
        if rings.intact(damaged):
            assert answers(damaged) == right, (number, byte, bit)
        else:
            seen += 1
    assert seen > 500


def test_top_bits_do_not_cancel_out() -> None:
    """Two changes that a sum of plain words would not see."""
    ring = used(1, False).ring
    slots = rings.live_slots(ring)[:2]
    for name in ("time", "row"):
        damaged = copied(ring)
        damaged.entries[name][slots] ^= np.int64(2**62)
        assert not rings.intact(damaged)
    damaged = copied(ring)
    damaged.entries[slots] = damaged.entries[slots[::-1]]
    assert not rings.intact(damaged)
