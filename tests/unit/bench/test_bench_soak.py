"""What `bench soak` takes for growth, which pairs it counts as wrong, and what processes hold."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from bench.live_traffic import Traffic
from bench.process_memory import held_by
from bench.soak_child import Tally
from bench.soak_report import LINES, Soaked, table, verdict

MEMORY = next(line for line in LINES if line.name == "total_bytes")


def soaked(per_hour: float, noise: float = 0.0) -> Soaked:
    """An hour of samples of about 1,000 MiB that grow by a share of it, after ten minutes of anything."""
    random = np.random.default_rng(3)
    seconds = np.arange(0, 4200, 5.0)
    sizes = 1000 * (1 + per_hour * (seconds - 600) / 3600) + random.normal(0, noise or 1e-6, len(seconds))
    sizes[seconds < 600] = 5
    samples = [
        {"s": float(s), "total_bytes": float(size * 2**20)} for s, size in zip(seconds, sizes, strict=True)
    ]
    return Soaked(samples, warm_up_s=600, missing=0, wrong=0)


@pytest.mark.parametrize(
    ("per_hour", "noise", "grows"),
    [(0.0, 0.0, False), (0.1, 0.0, True), (0.1, 20.0, True), (0.0, 20.0, False), (0.01, 0.0, False)],
)
def test_growth_is_sure_and_more_than_a_drift(per_hour: float, noise: float, grows: bool) -> None:
    found = soaked(per_hour, noise)
    slope = found.slope_per_hour(MEMORY)
    assert slope is not None
    assert slope.per_x == pytest.approx(1000 * per_hour, abs=1e-3 + noise)
    assert found.grows(MEMORY) is grows
    assert found.level is not grows
    assert verdict(found) == ("slope of memory in all" if grows else "no slope")
    assert table(found).row_count == 1
    assert found.to_json()["slopes"]["total_bytes"]["grows"] is grows


def test_a_pair_counts_once() -> None:
    tally = Tally(Traffic(8, 8, 5, 0.5))
    tally.began_at = 100.0
    pairs = tally.missing
    tally.take(103.0, pa.table({"key": np.arange(pairs)}))
    assert (tally.missing, tally.wrong) == (0, 0)
    assert len(tally.latencies()) == pairs
    assert len(tally.latencies()) == 0
    tally.take(104.0, pa.table({"key": np.array([0, pairs])}))
    assert tally.wrong == 2


def test_a_process_holds_memory_and_handles() -> None:
    mine = held_by(os.getpid())["driver"]
    assert mine.processes == 1
    assert mine.pss_bytes > 2**20
    assert mine.handles > 0
