"""Law: a walk that ends early, because all that is behind is too early, finds the same pairs."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.joins.buffer import Buffer, Held
from dovetail.kernels import ring as rings

STEP, KEYS = 4_000, 500


def rows_of(rng: np.random.Generator, first: int, disorder: int) -> Held:
    """Rows whose times run with their numbers, more or less; now and then one from the future."""
    rows = np.arange(first, first + STEP, dtype=np.int64)
    times = rows + rng.integers(-disorder, disorder + 1, STEP)
    times[rng.random(STEP) < 0.0005] += 20_000
    keys = rng.integers(0, KEYS, STEP)
    return Held.fresh((keys * 2_654_435_761 % 2**32).astype(np.uint32), times, rows)


@pytest.mark.parametrize("disorder", [0, 300, 5_000])
@pytest.mark.parametrize("bounds", [(-50, 50), (0, 1_000), (-30_000, -10), (200, 200)])
def test_pairs_are_those_of_comparing_all(disorder: int, bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(disorder + abs(bounds[0]))
    buffer = Buffer.empty("right", False)
    for number in range(12):
        buffer.insert(rows_of(rng, number * STEP, disorder))
        if number % 2:
            buffer.expire((number - 7) * STEP)
        if number == 5:
            buffer.kill(rng.choice(buffer.slots(), 500))
        probing = rows_of(rng, int(rng.integers(0, (number + 2) * STEP)), disorder).where(
            rng.random(STEP) < 0.05
        )
        who, slots = buffer.probe(probing, *bounds)
        held = buffer.held()
        apart = held.time[None, :] - probing.time[:, None]
        same = (held.tag[None, :] == probing.tag[:, None]) & (apart >= bounds[0]) & (apart <= bounds[1])
        expected = [(int(i), int(held.row[j])) for i, j in zip(*np.nonzero(same), strict=True)]
        assert sorted(zip(who.tolist(), buffer.at(slots)[0].tolist(), strict=True)) == expected
        assert rings.intact(buffer.ring)


def test_much_of_a_chain_is_not_walked() -> None:
    """All rows have one key: the entries behind the end of a walk may say what they like."""
    buffer = Buffer.empty("right", False)
    rows = np.arange(40 * rings.BLOCK_ROWS, dtype=np.int64)
    slots = buffer.insert(Held.fresh(np.zeros(len(rows), np.uint32), rows, rows))
    late = Held.fresh(np.zeros(1, np.uint32), rows[-1:], rows[:1])
    before = buffer.probe(late, -10, 10)[1]
    buffer.ring.entries["time"][slots[: 30 * rings.BLOCK_ROWS]] = rows[-1]
    assert np.array_equal(buffer.probe(late, -10, 10)[1], before)
