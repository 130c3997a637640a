"""Law: however a buffer grows, it holds the same rows, finds each, and takes at most 32 bytes a row."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.joins.buffer import Buffer, Held
from dovetail.kernels import ring as rings

MOST_BYTES = 32
MANY_ROWS = 70_000  # a ring has whole blocks, which counts where it is small


def rows_from(rng: np.random.Generator, first: int, count: int) -> Held:
    rows = np.arange(first, first + count, dtype=np.int64)
    return Held(
        rng.integers(0, 2**32, count, np.uint32),
        rows + rng.integers(0, 100, count),
        rows,
        rng.random(count) < 0.5,
        rng.integers(0, 1000, count),
        rng.integers(0, 1000, count),
        rng.integers(0, 2**15, count, np.uint16),
    )


def same(one: Held, other: Held, *, with_best: bool) -> bool:
    alike = [np.array_equal(a, b) for a, b in zip(one, other, strict=True)]
    return all(alike if with_best else alike[:4])


@pytest.mark.parametrize("with_best", [False, True])
@pytest.mark.parametrize("step", [777, 5_000, 60_000])
def test_a_window_that_only_grows(step: int, with_best: bool) -> None:
    rng = np.random.default_rng(step)
    buffer, came = Buffer.empty("left", with_best), None
    for first in range(0, 100_000, step):
        new = rows_from(rng, first, step)
        came = new if came is None else came.joined(new)
        buffer.insert(new)
        assert rings.intact(buffer.ring)
        extra = 16 * len(buffer.ring.best_row)
        assert buffer.rows < MANY_ROWS or buffer.bytes - extra <= MOST_BYTES * buffer.rows
    assert came is not None
    assert same(buffer.held(), came, with_best=with_best)
    assert np.array_equal(buffer.find(came.tag, came.row), buffer.slots())


@pytest.mark.parametrize("seed", range(6))
def test_a_window_that_moves_and_grows(seed: int) -> None:
    """Rows leave from the front and from within, while more and more come: the ring has wrapped around and
    has dead entries when it grows, and its journal says what came all the same."""
    rng = np.random.default_rng(seed)
    buffer = Buffer.empty("left", True)
    alive = rows_from(rng, 0, 3_000)
    buffer.insert(alive)
    first = 3_000
    for number in range(1, 40):
        buffer.keep_journal()
        assert buffer.journal is not None
        since = first
        for _ in range(2):
            new = rows_from(rng, first, int(rng.integers(1, 400 * number)))
            first += len(new.row)
            buffer.insert(new)
            alive = alive.joined(new)
            killed = rng.random(len(alive.row)) < 0.02
            buffer.kill(buffer.find(alive.tag[killed], alive.row[killed]))
            alive = alive.where(~killed)
        bound = first - 1_000 * number
        buffer.expire(bound)
        alive = alive.where(alive.time >= bound)
        assert rings.intact(buffer.ring)
        assert same(buffer.held(), alive, with_best=True)
        assert same(buffer.journal.new(), alive.where(alive.row >= since), with_best=True)
        assert (buffer.find(alive.tag, alive.row) >= 0).all()


def test_a_window_that_moves_by_a_tenth_is_not_rebuilt_at_every_step() -> None:
    """The rows of a step are in any order of time, and one that lasts a little longer is among them."""
    rng = np.random.default_rng(1)
    step, buffer = 10_000, Buffer.empty("left", False)
    made = []
    for number in range(40):
        new = rows_from(rng, number * step, step)
        buffer.insert(new._replace(time=rng.permutation(new.row)))
        buffer.expire((number - 9) * step + 1)
        made.append(buffer.ring)
        assert rings.intact(buffer.ring)
    assert all(ring is made[-1] for ring in made[15:])
    assert buffer.bytes <= MOST_BYTES * (buffer.rows + step)
