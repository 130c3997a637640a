"""The law of Misra and Gries, against counting everything."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.kernels.frequent import COUNTERS, frequent


def counted(values: np.ndarray) -> dict[int, int]:
    return dict(zip(*(column.tolist() for column in frequent(values)), strict=True))


@given(st.lists(st.sampled_from([0, 1, -1, 2**62, -(2**63), 1 << 32, 1024, 2048]), max_size=200))
def test_few_values_are_counted_exactly(values: list[int]) -> None:
    assert counted(np.array(values, np.int64)) == Counter(values)


@pytest.mark.parametrize("seed", range(8))
def test_no_count_is_too_high_and_none_short_by_more_than_its_share(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = rng.integers(-(2**63), 2**63 - 1, 50_000)
    heavy = rng.integers(-(2**63), 2**63 - 1, 5)
    values = np.where(rng.random(50_000) < 0.4, heavy[rng.zipf(1.5, 50_000) % 5], spread)
    found, true = counted(values), Counter(values.tolist())
    assert len(found) <= COUNTERS
    for value, count in true.items():
        assert count - len(values) / COUNTERS <= found.get(value, 0) <= count
