"""What the sample says of a join, against the join itself and brute force."""

import numpy as np
import pytest
from hypothesis import given

import oracle
from dovetail.joins import sample as sampling
from dovetail.joins.interval.step import step
from dovetail.joins.sample import Sample, look
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times
from dovetail.model.interval import IntervalSpec
from dovetail.model.match_offsets import BEYOND, BINS, INSIDE, MatchOffsets, histogram, labelled
from laws.algorithms import HASHINGS, IntervalStep
from laws.effort import tried
from streams import Mode, wild_schedules, windows

ALL = Mode("inner", "all", "first")


@tried
@given(wild_schedules(), windows())
def test_found_and_missed_make_up_what_the_sample_saw(steps, window):
    """While all keys are sampled: a pair inside the window was found by the join, or is counted as missed."""
    join, sample = IntervalStep(window, ALL, HASHINGS[0]), Sample.empty()
    found, missed, seen = 0, 0, np.zeros(BINS, np.int64)
    for new in steps:
        before = join.state.times
        found += len(join.step(new))
        sides = join.arrivals(new.left), join.arrivals(new.right)
        looked = look(sample, join.state.spec, *sides, before, join.state.times)
        missed, seen = missed + looked.missed, seen + looked.offsets
    rows = [[row for new in steps for row in new[side]] for side in (0, 1)]
    assert found + missed == len(oracle.batch_join(*rows, *window, *ALL))
    scale = MatchOffsets.of(join.state.spec)
    wide = oracle.streaming_join(steps, scale.before_us, scale.after_us, *ALL)
    assert seen.sum() == sum(map(len, wide))


@given(windows())
def test_bins_cover_the_window_and_twice_as_much_on_either_side(window):
    spec = IntervalSpec(*window, "inner")
    scale = MatchOffsets.of(spec)
    places = {
        -spec.before_us: BEYOND,
        -spec.before_us - 1: BEYOND - 1,
        spec.after_us + 1: BEYOND + INSIDE,
        -scale.before_us: 0,
        scale.after_us: BINS - 1,
    }
    for offset, place in places.items():
        assert scale.counted(np.array([offset])).argmax() == place
    assert BEYOND <= scale.counted(np.array([spec.after_us])).argmax() < BEYOND + INSIDE


def test_labels_round_trip():
    counts = np.arange(BINS) % 7
    assert (histogram(labelled(counts) | {"left_in": 3}) == counts).all()


@pytest.mark.parametrize("rows", [2_000, 60_000])
def test_a_small_sample_estimates_the_whole(rows, monkeypatch):
    """Rows come late by design: an estimate from a few keys is near the truth."""
    monkeypatch.setattr(sampling, "MOST_ROWS", 4_000)
    monkeypatch.setattr(sampling, "FEW_ROWS", 250)
    rng = np.random.default_rng(5)
    spec = IntervalSpec(50, 50, "inner")
    state, sample = JoinState.empty(spec), Sample.empty()
    found = missed = inside = beyond = 0
    whole = Sample.empty()
    truth = np.zeros(2, np.int64)
    for start in range(0, rows, 1000):
        sides = []
        for _ in range(2):
            hashes = rng.integers(0, rows // 20, 1000) * np.int64(0x1E3779B97F4A7C15)
            times = start + rng.integers(-200, 100, 1000)
            sides.append(Arrivals(hashes, times, np.arange(start, start + 1000)))
        before = state.times
        found += step(state, *sides, Times(start, start)).counts.pairs
        looked = look(sample, spec, *sides, before, state.times)
        missed += looked.missed
        inside += looked.offsets[BEYOND : BEYOND + INSIDE].sum()
        beyond += looked.offsets[BEYOND + INSIDE :].sum()
        monkeypatch.setattr(sampling, "MOST_ROWS", 1 << 40)
        exact = look(whole, spec, *sides, before, state.times)
        truth += exact.missed, exact.offsets[BEYOND + INSIDE :].sum()
        monkeypatch.setattr(sampling, "MOST_ROWS", 4_000)
    assert (sample.weight > 1) == (rows > 10_000)
    assert missed == pytest.approx(truth[0], rel=0.25)
    assert beyond == pytest.approx(truth[1], rel=0.25)
    assert inside == pytest.approx(found + truth[0], rel=0.25)
