"""The cost model as a table: made-up costs in, choices out; and that calibrating gives costs at all."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dovetail.joins.window import cost
from dovetail.joins.window.cost import Adaptive, Costs, calibrate, expected_matches, forecast
from dovetail.joins.window.join import ALGORITHMS
from dovetail.joins.window.stream_facts import SideFacts, StreamFacts

FLAT = {"npj": 20, "prj": 10, "mway": 15, "mpass": 30, "shj_jm": 40, "shj_jb": 50, "pmj_jm": 45, "pmj_jb": 40}


def costs(**changed: float) -> Costs:
    ns = {**FLAT, **changed}
    return Costs(
        2, {name: np.full((3, 2), float(ns[name])) for name in ALGORITHMS}, dict.fromkeys(ALGORITHMS, 1.0)
    )


def facts(rate: float, rows: int = 1_000_000, duplicates: float = 1.0) -> StreamFacts:
    side = SideFacts(rows, rate, duplicates, 0.0)
    return StreamFacts(side, side, 2)


@pytest.mark.parametrize(
    ("rate", "wish", "choice"),
    [
        (inf, "throughput", "prj"),  # at rest: the least work
        (inf, "latency", "prj"),
        (1_000, "latency", "shj_jm"),  # it keeps up: matches are fresh
        (1_000, "progress", "shj_jm"),
        (1_000, "throughput", "shj_jm"),  # done a moment after the window
        (100_000, "throughput", "prj"),  # it falls behind: 80 ms of work in a window of 10
        (100_000, "latency", "prj"),
    ],
)
def test_choices(rate: float, wish: str, choice: str) -> None:
    made = Adaptive(costs(), wish, write_pairs=False).choose(facts(rate))
    assert made.algorithm == choice, made
    assert f"{wish} counts most" in str(made)


def test_other_costs_give_other_choices() -> None:
    assert Adaptive(costs(mway=5)).choose(facts(inf)).algorithm == "mway"


def test_it_learns_from_what_joins_took() -> None:
    chooser = Adaptive(costs(), write_pairs=False)
    chosen = []
    for _ in range(4):
        name = chooser.choose(facts(inf)).algorithm
        chosen.append(name)
        chooser.learn(name, facts(inf), {"prj": 0.2}.get(name, 0.03))
    assert chosen[0] == "prj"
    assert chosen[-1] == "mway", chosen


def test_it_changes_its_mind_as_the_stream_changes() -> None:
    chooser = Adaptive(costs(), "latency")
    windows = [facts(500, 5_000)] * 2 + [facts(1e6)] * 2
    assert [chooser.choose(window).algorithm for window in windows] == ["shj_jm", "shj_jm", "prj", "prj"]


def test_costs_between_and_beyond_what_was_timed() -> None:
    table = np.array([[10.0, 100.0], [20.0, 200.0], [30.0, 300.0]])
    made = Costs(1, {"npj": table}, {"npj": 2.0})
    for rows, duplicates, ns in [
        (cost.ROWS[0], 1, 10), (cost.ROWS[2], 1, 30), (cost.ROWS[2] * 8, 1, 30), (16, 1, 10),
        (cost.ROWS[0], 64, 100), (cost.ROWS[0], 8, 55), (cost.ROWS[1], 5000, 200),
    ]:  # fmt: skip
        window = facts(inf, rows, duplicates)
        assert made.seconds("npj", window, 0) == pytest.approx(ns * window.rows / 1e9), (rows, duplicates)
    assert made.seconds("npj", facts(inf, 10), 1e9) == pytest.approx(2.0, rel=0.01)


def test_lazy_matches_wait_for_the_window_and_eager_ones_do_not() -> None:
    lazy, eager, late = forecast("npj", 0.1, 1.0), forecast("shj_jm", 0.1, 1.0), forecast("shj_jm", 3.0, 1.0)
    assert eager.late_s < 0.01 < lazy.late_s
    assert eager.half_s < 1.0 < lazy.half_s
    assert late.last_s > 3.0
    assert late.late_s > 1.5
    assert expected_matches(facts(inf, 100, 7.0)) == 700


def test_calibrating_gives_a_cost_for_every_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "ROWS", (256, 1024, 4096))
    found = calibrate(2, repeat=1)
    assert set(found.row_ns) == set(found.match_ns) == set(ALGORITHMS)
    assert all((table > 0).all() for table in found.row_ns.values())
    assert Adaptive(found).choose(facts(inf)).algorithm in ALGORITHMS
