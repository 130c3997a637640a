"""Law of grouping: ascending buckets, stable, and counts that add up. Reference: Python's own stable sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.kernels.grouping import MAX_BUCKETS, group_by_bucket


@given(st.integers(1, 300).flatmap(lambda k: st.tuples(st.just(k), st.lists(st.integers(0, k - 1)))))
def test_equals_a_stable_sort(case: tuple[int, list[int]]) -> None:
    buckets, values = case
    grouping = group_by_bucket(np.array(values, np.int64), buckets)
    reference = sorted(range(len(values)), key=values.__getitem__)
    computed = list(range(len(values))) if grouping.order is None else grouping.order.tolist()
    assert computed == reference
    assert grouping.counts.tolist() == [values.count(bucket) for bucket in range(buckets)]


@pytest.mark.parametrize("values", [[], [5], [3, 3, 3], [0, 0, 1, 7, 7]])
def test_rows_that_are_grouped_already_stay_where_they_are(values: list[int]) -> None:
    assert group_by_bucket(np.array(values, np.int32), 8).order is None


@pytest.mark.parametrize("bad", [[-1], [0, 8, 1], [2**40], [-(2**63)]])
def test_a_bucket_outside_is_refused(bad: list[int]) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.7"):
        group_by_bucket(np.array(bad, np.int64), 8)


@pytest.mark.parametrize("buckets", [0, -1, MAX_BUCKETS + 1])
def test_a_number_of_buckets_that_cannot_be(buckets: int) -> None:
    with pytest.raises(ValueError, match="expected 1 to"):
        group_by_bucket(np.array([0]), buckets)


def test_the_highest_number_of_buckets() -> None:
    values = np.array([MAX_BUCKETS - 1, 0, MAX_BUCKETS - 1])
    assert group_by_bucket(values, MAX_BUCKETS).order.tolist() == [1, 0, 2]
