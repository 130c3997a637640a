"""Arrival, the three metrics and the breakdown, on a clock of the test's own and on the real one."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import InputError
from dovetail.intra_window.join import ALGORITHMS, LAZY, match
from dovetail.intra_window.kernels.metrics import bin_of, upper_edge
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.metrics import PHASES, InMotion, MatchMeter, measure


class Clock:
    """Time passes only in naps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.naps = 0

    def __call__(self) -> float:
        return self.now

    def nap(self, seconds: float) -> None:
        self.naps += 1
        self.now += max(seconds, 1e-6)


def in_motion(left: list[int], right: list[int]) -> tuple[InMotion, Clock]:
    clock = Clock()
    return InMotion(np.array(left, np.int64), np.array(right, np.int64), clock, clock.nap), clock


def test_rows_are_there_from_their_time_on() -> None:
    arrival, clock = in_motion([0, 0, 10, 20], [5])
    assert arrival.ready(0, 0, 4) == 2
    assert arrival.ready(1, 0, 1) == 0
    arrival.wait(2, 0)
    assert 5 <= arrival.now_us() < 10
    assert arrival.ready(1, 0, 1) == 1
    arrival.wait_for_all()
    assert arrival.now_us() >= 20
    assert arrival.ready(0, 2, 4) == 4
    naps = clock.naps
    arrival.wait(4, 1)
    assert clock.naps == naps, "nothing is left to wait for"


def test_times_that_go_back_are_refused() -> None:
    with pytest.raises(InputError, match="the right times"):
        in_motion([], [2, 1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_eager_joins_match_early_and_lazy_ones_at_the_end(algorithm: str) -> None:
    """On the test's clock: rows of key i come at i milliseconds, so an eager match is a moment old, a lazy
    one waits for the window's end."""
    rows = 200
    times = [i * 1000 for i in range(rows)]
    arrival, _ = in_motion(times, times)
    meter = MatchMeter(arrival, 1)
    keys = np.arange(rows, dtype=np.int32)
    arrival.start()
    assert match(keys, keys, algorithm, 1, Knobs(sorting_step=0.01), meter.take, None, arrival) == rows
    seen, matched = meter.progress()
    assert matched[-1] == rows
    half = int(seen[np.searchsorted(matched, rows // 2)])
    if algorithm in LAZY:
        assert seen[0] >= times[-1]
        assert meter.latency_us(1.0) >= times[-1]
    else:
        assert half <= times[rows // 2] + 10_000
        if algorithm.startswith("shj"):
            assert meter.latency_us(0.99) <= 100


@pytest.mark.parametrize("algorithm", ["prj", "mpass", "shj_jb", "pmj_jm"])
@pytest.mark.parametrize("moving", [False, True])
def test_everything_is_measured(algorithm: str, moving: bool) -> None:
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 500, 3000).astype(np.int32), rng.integers(0, 500, 2000).astype(np.int32)
    times = (
        [np.sort(rng.integers(0, 20_000, len(keys))) for keys in (left, right)] if moving else [None, None]
    )
    found = measure(left, right, algorithm, 2, None, *times)
    assert found.matches == int(np.bincount(left, minlength=500) @ np.bincount(right, minlength=500))
    assert found.input_rows == 5000
    assert tuple(found.phases_s) == PHASES
    assert moving or found.phases_s["wait"] == 0
    assert found.phases_s["build/sort"] + found.phases_s["probe"] > 0
    assert found.last_match_us is not None
    assert found.rows_per_s == pytest.approx(5000 / (found.last_match_us / 1e6))
    assert found.latency_us["p50"] <= found.latency_us["p95"] <= found.latency_us["p99"]
    whens, shares = zip(*found.progress, strict=True)
    assert list(whens) == sorted(whens)
    assert shares[-1] == 1.0
    assert found.until_share_us(0.5) <= found.last_match_us


def test_nothing_matched_is_measured_too() -> None:
    found = measure(np.array([1], np.int32), np.array([2], np.int32), "npj", 1)
    assert (found.matches, found.last_match_us, found.latency_us["p95"], found.progress) == (
        0,
        None,
        None,
        [],
    )
    assert found.rows_per_s > 0


def test_bins_hold_their_latencies() -> None:
    for latency in [*range(200), 1000, 123_456, 10**9, 10**12]:
        at = bin_of(latency)
        assert upper_edge(at - 1) < latency <= upper_edge(at), latency
        assert upper_edge(at) <= latency * 17 / 16 + 1
    assert bin_of(-5) == 0
