"""Candidates are looked at by blocks: what comes out does not depend on where blocks begin and end."""

import numpy as np
import pytest

from dovetail.joins.theta.compiled import pairs_kernel
from dovetail.joins.theta.kernels.band import BLOCK, in_band
from dovetail.model.theta import Operand, Operation

LENGTHS = (0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 5)
SMALLER = Operation("<", (Operand("left", "a"), Operand("right", "b")))
OPERANDS = ((Operand("left", "a"), "int"), (Operand("right", "b"), "int"))


def candidates(rng, dimensions):
    """Ranges of every length, at both ends of the rows and within; the bounds of some probes are empty."""
    rows = 3 * BLOCK
    starts = [start for length in LENGTHS for start in (0, 3, rows - length)]
    stops = [start + length for start, length in zip(starts, np.repeat(LENGTHS, 3), strict=True)]
    lows = rng.integers(0, 100, (dimensions, len(starts)))
    highs = lows + rng.integers(-3, 60, lows.shape)
    values = rng.integers(0, 100, (dimensions, rows))
    return np.array(starts), np.array(stops), lows, highs, values


def expected(starts, stops, lows, highs, values, verdict=lambda i, j: True):
    return [
        (i, j)
        for i in range(len(starts))
        for j in range(starts[i], stops[i])
        if np.all((lows[:, i] <= values[:, j]) & (values[:, j] <= highs[:, i])) and verdict(i, j)
    ]


@pytest.mark.parametrize("dimensions", range(4))
def test_bands(dimensions):
    some = candidates(np.random.default_rng(dimensions), dimensions)
    assert list(zip(*(found.tolist() for found in in_band(*some)), strict=True)) == expected(*some)


@pytest.mark.parametrize("dimensions", range(3))
def test_conditions(dimensions):
    rng = np.random.default_rng(10 + dimensions)
    some = candidates(rng, dimensions)
    mine, theirs = rng.integers(0, 10, len(some[0])), rng.integers(0, 10, some[4].shape[1])
    kernel = pairs_kernel((SMALLER,), OPERANDS, "left", dimensions, nullable=False)
    found = kernel(*some, mine, theirs)
    assert list(zip(*(one.tolist() for one in found), strict=True)) == expected(
        *some, lambda i, j: mine[i] < theirs[j]
    )
