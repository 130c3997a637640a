"""Laws of the event-time sketch. Reference: sorted lists of Python integers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.model.sketch import EMPTY, MAX_BINS, NO_TIME, EventTimeSketch, merge_sketches

INT64_MAX = 2**63 - 1
near = st.integers(-(10**9), 10**9)
clustered = st.builds(
    lambda base, offset: base + offset, st.sampled_from([0, 10**15, -(10**15)]), st.integers(0, 5000)
)
extreme = st.sampled_from([NO_TIME, NO_TIME + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX])
times_lists = st.lists(st.one_of(near, clustered, extreme), max_size=60)


def of(times: list[int]) -> EventTimeSketch:
    return EventTimeSketch.of(np.array(times, np.int64))


@given(times_lists, times_lists)
@example([NO_TIME + 1], [INT64_MAX])
@example([0, 255], [300])
def test_a_sketch_depends_on_the_times_alone(a: list[int], b: list[int]) -> None:
    assert of(a).merge(of(b)) == of(a + b) == of(b + a)


@given(times_lists, times_lists, times_lists)
def test_merge_is_associative_commutative_and_has_a_unit(a: list[int], b: list[int], c: list[int]) -> None:
    x, y, z = of(a), of(b), of(c)
    assert x.merge(y).merge(z) == x.merge(y.merge(z)) == merge_sketches([z, x, y])
    assert x.merge(y) == y.merge(x)
    assert x.merge(EMPTY) == x == EMPTY.merge(x)


@given(times_lists)
def test_counts_minimum_maximum_and_bins(times: list[int]) -> None:
    sketch = of(times)
    known = [t for t in times if t != NO_TIME]
    assert (sketch.count, sketch.nulls) == (len(known), len(times) - len(known))
    if known:
        assert (sketch.min_us, sketch.max_us) == (min(known), max(known))
    assert len(sketch.counts) <= MAX_BINS
    for position, count in enumerate(sketch.counts):
        number = (sketch.min_us >> sketch.shift) + position
        assert count == sum(t >> sketch.shift == number for t in known)
    if sketch.shift:  # the bins are as narrow as the limit allows
        finer = sketch.shift - 1
        assert (sketch.max_us >> finer) - (sketch.min_us >> finer) >= MAX_BINS


@given(times_lists, st.floats(0, 1))
def test_a_quantile_is_behind_the_true_one_by_less_than_a_bin(times: list[int], p: float) -> None:
    sketch, known = of(times), sorted(t for t in times if t != NO_TIME)
    q = sketch.quantile(p)
    if not known:
        assert q is None
        return
    true = known[max(1, math.ceil(p * len(known))) - 1]
    assert q is not None
    assert known[0] <= q <= true < q + sketch.bin_width_us
    assert sketch.quantile(0) == known[0]
    assert sketch.quantile(1) == known[-1]


@given(times_lists)
def test_json_round_trip(times: list[int]) -> None:
    sketch = of(times)
    assert EventTimeSketch.from_json(json.loads(json.dumps(sketch.to_json()))) == sketch


def test_the_example_of_the_docstring() -> None:
    sketch = of([*range(256)])
    assert (sketch.bin_width_us, len(sketch.counts)) == (1, 256)
    wider = sketch.merge(of([300]))
    assert (wider.bin_width_us, len(wider.counts)) == (2, 151)
    assert wider.counts[127:] == (2, *[0] * 22, 1)


@pytest.mark.parametrize(
    "parts",
    [
        {"count": 1, "min_us": 5, "max_us": 5, "counts": [2]},
        {"count": 1, "min_us": 5, "max_us": 4, "counts": [1]},
        {"count": 2, "min_us": 0, "max_us": 2, "counts": [2]},
        {"count": 0, "min_us": 0, "max_us": 0, "counts": [0]},
        {"count": -1, "min_us": 0, "max_us": 0, "counts": []},
        {"count": 1, "min_us": 2**63, "max_us": 2**63, "counts": [1]},
        {"count": 3, "min_us": 0, "max_us": 2, "counts": [3, -1, 1]},
    ],
)
def test_parts_that_contradict_each_other_are_refused(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="contradict"):
        EventTimeSketch.from_json({"nulls": 0, **parts})


def test_a_share_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        of([1]).quantile(1.5)


@given(st.lists(st.integers(-(10**12), 10**15), min_size=1, max_size=60), st.integers(-(10**12), 10**15))
def test_mean_and_rows_since(times: list[int], since: int) -> None:
    sketch = EventTimeSketch.of(np.array(times, np.int64))
    mean = sketch.mean()
    assert mean is not None
    assert mean <= sum(times) / len(times) + 1
    assert sum(times) / len(times) < mean + sketch.bin_width_us + 1
    low = sum(time >= since + sketch.bin_width_us for time in times)
    high = sum(time >= since - sketch.bin_width_us for time in times)
    assert low <= sketch.rows_since(since) <= high
