"""The cost model as a table: made-up costs in, forecasts out; and that calibrating gives costs at all."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dovetail.intra_window import cost
from dovetail.intra_window.cost import JoinCosts, calibrate, expected_matches, forecast
from dovetail.intra_window.join import ALGORITHMS
from unit.joins.window_costs import facts


def test_costs_between_and_beyond_what_was_timed() -> None:
    table = np.array([[10.0, 100.0], [20.0, 200.0], [30.0, 300.0], [40.0, 400.0]])
    made = JoinCosts(1, {"npj": table}, {"npj": 2.0})
    for rows, duplicates, ns in [
        (cost.ROWS[0], 1, 10), (cost.ROWS[2], 1, 30), (cost.ROWS[3] * 8, 1, 40), (16, 1, 10),
        (cost.ROWS[0], 64, 100), (cost.ROWS[0], 8, 55), (cost.ROWS[1], 5000, 200),
    ]:  # fmt: skip
        window = facts(inf, rows, duplicates)
        assert made.seconds("npj", window, 0) == pytest.approx(ns * window.rows / 1e9), (rows, duplicates)
    assert made.seconds("npj", facts(inf, 10), 1e9) == pytest.approx(2.0, rel=0.01)


def test_lazy_matches_wait_for_the_window_and_eager_ones_do_not() -> None:
    lazy, eager, late = forecast("npj", 0.1, 1.0), forecast("shj_jm", 0.1, 1.0), forecast("shj_jm", 3.0, 1.0)
    assert eager.of("latency") < 0.01 < lazy.of("latency")
    assert eager.of("progress") < 1.0 < lazy.of("progress")
    assert late.of("throughput") > 3.0
    assert late.of("latency") > 1.5
    assert expected_matches(facts(inf, 100, 7.0)) == 700


def test_calibrating_gives_a_cost_for_every_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "ROWS", (256, 1024, 4096, 8192))
    found = calibrate(2, repeat=1)
    assert set(found.row_ns) == set(found.match_ns) == set(ALGORITHMS)
    assert all((table > 0).all() for table in found.row_ns.values())
    assert (np.array(list(found.match_ns.values())) >= 0).all()
