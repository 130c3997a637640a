"""Laws of the event-time sketch. Reference: sorted lists of Python integers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.sketch import EMPTY, OCTAVE, RANK_ERROR, EventTimeSketch, merge_sketches
from dovetail.model.time_codes import FIRST_TIME, NO_TIME

INT64_MAX = 2**63 - 1
near = st.integers(-(10**9), 10**9)
clustered = st.builds(
    lambda base, offset: base + offset, st.sampled_from([0, 10**15, -(10**15)]), st.integers(0, 5000)
)
extreme = st.sampled_from([NO_TIME, NO_TIME + 1, FIRST_TIME, -1, 0, 1, INT64_MAX - 1, INT64_MAX])
times_lists = st.lists(st.one_of(near, clustered, extreme), max_size=60)


def of(times: list[int]) -> EventTimeSketch:
    return EventTimeSketch.of(np.array(times, np.int64))


@given(st.lists(times_lists, max_size=5))
def test_counts_minimum_and_maximum_survive_merging(parts: list[list[int]]) -> None:
    merged = merge_sketches(map(of, parts))
    known = [time for part in parts for time in part if time >= FIRST_TIME]
    assert (merged.count, merged.nulls) == (len(known), sum(map(len, parts)) - len(known))
    if known:
        assert (merged.min_us, merged.max_us) == (min(known), max(known))
        assert (merged.quantile(0), merged.quantile(1)) == (min(known), max(known))


@given(times_lists)
def test_merging_with_nothing_changes_nothing(times: list[int]) -> None:
    assert of(times).merge(EMPTY) == of(times) == EMPTY.merge(of(times))


SPREADS = {
    "even": lambda rng, rows: rng.random(rows) * 1e9,
    "long tail of delays": lambda rng, rows: 1e12 - 1e6 * np.minimum(rng.pareto(1.1, rows), 1e5),
    "two clusters": lambda rng, rows: rng.choice([0, 1e13], rows) + rng.random(rows) * 1e7,
    "few values": lambda rng, rows: rng.integers(0, 5, rows) * 1e6,
    "one row next year": lambda rng, rows: np.where(np.arange(rows) == 7, 3.2e13, rng.random(rows) * 1e9),
    "one row of long ago": lambda rng, rows: np.where(np.arange(rows) == 7, -1.5e15, rng.random(rows) * 1e9),
}


@pytest.mark.parametrize("rows", [1000, 50_000])
@pytest.mark.parametrize("parts", [1, 2, 64])
@pytest.mark.parametrize("spread", SPREADS)
def test_a_quantile_has_about_its_rank(spread: str, parts: int, rows: int) -> None:
    """Merged one after another, the way a window grows, and focused on what is asked for."""
    times = SPREADS[spread](np.random.default_rng(1), rows).astype(np.int64)
    ordered = np.sort(times)
    merged = EMPTY
    for part in np.array_split(times, parts):
        merged = merged.merge(EventTimeSketch.of(part)).focused(0.05)
    for share in (0.001, 0.01, 0.05):
        value = merged.quantile(share)
        low = np.searchsorted(ordered, value, "left") / rows
        high = np.searchsorted(ordered, value + 1, "right") / rows
        error = RANK_ERROR * share + 1 / rows
        assert low - error <= share <= high + error


def test_a_sketch_is_small_however_many_times_it_is_of() -> None:
    rng = np.random.default_rng(2)
    sketch = EventTimeSketch.of(rng.integers(0, 10**12, 1_000_000))
    assert len(sketch.means) < OCTAVE * 17
    assert len(sketch.focused(0.01).means) < OCTAVE * 13


@given(times_lists)
def test_json_round_trip(times: list[int]) -> None:
    sketch = of(times)
    assert EventTimeSketch.from_json(json.loads(json.dumps(sketch.to_json()))) == sketch


def test_the_lowest_times_stand_alone() -> None:
    sketch = of([*range(0, 1000, 10)])
    assert sketch.means[:64] == tuple(range(0, 640, 10))
    assert sketch.means[64] == 645


@pytest.mark.parametrize(
    "parts",
    [
        {"count": 1, "min_us": 5, "max_us": 5, "means": [0], "weights": [2]},
        {"count": 1, "min_us": 5, "max_us": 4, "means": [0], "weights": [1]},
        {"count": 1, "min_us": 5, "max_us": 6, "means": [2], "weights": [1]},
        {"count": 1, "min_us": 5, "max_us": 6, "means": [-1], "weights": [1]},
        {"count": 2, "min_us": 5, "max_us": 6, "means": [1, 0], "weights": [1, 1]},
        {"count": 2, "min_us": 5, "max_us": 6, "means": [0], "weights": [1, 1]},
        {"count": 0, "min_us": 0, "max_us": 0, "means": [0], "weights": [0]},
        {"count": -1, "min_us": 0, "max_us": 0, "means": [], "weights": []},
        {"count": 1, "min_us": 2**63, "max_us": 2**63, "means": [0], "weights": [1]},
        {"count": 3, "min_us": 0, "max_us": 2, "means": [0, 1, 2], "weights": [3, -1, 1]},
    ],
)
def test_parts_that_contradict_each_other_are_refused(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"contradict|not a whole number"):
        EventTimeSketch.from_json({"nulls": 0, **parts})


def test_a_share_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        of([1]).quantile(1.5)


@given(st.lists(st.integers(-(10**12), 10**15), min_size=1, max_size=60), st.integers(-(10**12), 10**15))
def test_mean_and_rows_since(times: list[int], since: int) -> None:
    sketch = EventTimeSketch.of(np.array(times, np.int64))
    assert sketch.mean() == pytest.approx(sum(times) / len(times), abs=2)
    assert abs(sketch.rows_since(since) - sum(time >= since for time in times)) <= 1 + max(sketch.weights)
