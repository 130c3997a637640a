"""Which algorithm for which window: the facts of a sample, the paper's tree leaf by leaf, the cost model with
made-up costs, and the choice that learns with made-up windows."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dovetail.intra_window import at_rest, cost
from dovetail.intra_window.adaptive import STALE_WINDOWS, Adaptive
from dovetail.intra_window.at_rest import Chooser
from dovetail.intra_window.choose import (
    SAMPLE_ROWS,
    SideFacts,
    StreamFacts,
    chosen,
    facts_at_rest,
    side_facts,
    tree,
)
from dovetail.intra_window.cost import DUPLICATES, ROWS, JoinCosts, calibrate, expected_matches, forecast
from dovetail.intra_window.join import ALGORITHMS, LAZY, pairs

FLAT = {"npj": 20, "prj": 10, "mway": 15, "mpass": 30, "shj_jm": 40, "shj_jb": 50, "pmj_jm": 45, "pmj_jb": 40}


def costs(**changed: float) -> JoinCosts:
    ns = {**FLAT, **changed}
    return JoinCosts(
        2,
        {name: np.full((len(ROWS), len(DUPLICATES)), float(ns[name])) for name in ALGORITHMS},
        dict.fromkeys(ALGORITHMS, 1.0),
    )


def facts(rate: float, rows: int = 1_000_000, duplicates: float = 1.0) -> StreamFacts:
    side = SideFacts(rows, rate, duplicates, 0.0)
    return StreamFacts(side, side, 2)


@pytest.mark.parametrize(
    ("rates", "duplicates", "rows", "top", "cores", "wish", "leaf", "reason"),
    [
        ((100, 9e9), 1, 10_000, 0.0, 2, "throughput", "shj_jm", "one stream is slow"),
        ((inf, 61), 68, 10_000, 0.0, 2, "latency", "shj_jm", "one stream is slow"),
        ((3000, 3000), 100, 6_000_000, 0.0, 2, "throughput", "pmj_jb", "many duplicates"),
        ((3000, 3000), 1, 6_000_000, 0.0, 2, "latency", "shj_jm", "latency counts most"),
        ((3000, 3000), 1, 6_000_000, 0.0, 2, "progress", "shj_jm", "progress counts most"),
        ((3000, 3000), 1, 6_000_000, 0.0, 2, "throughput", "prj", "throughput counts most"),
        ((9000, 9000), 100, 6_000_000, 0.0, 2, "latency", "mway", "cores are few"),
        ((90_000, 90_000), 100, 6_000_000, 0.0, 16, "latency", "mpass", "16 cores are many"),
        ((inf, inf), 1, 6_000_000, 0.0, 2, "throughput", "prj", "no key is hot"),
        ((inf, inf), 1, 6_000_000, 0.3, 2, "throughput", "npj", "one key has 30%"),
        ((inf, inf), 1, 6_000, 0.0, 2, "throughput", "npj", "rows are few"),
    ],
)
def test_leaves(rates, duplicates, rows, top, cores, wish, leaf, reason):
    left, right = (SideFacts(rows // 2, rate, duplicates, top) for rate in rates)
    choice = tree(StreamFacts(left, right, cores), wish)
    assert choice.algorithm == leaf
    assert reason in str(choice)


@pytest.mark.parametrize("duplicates", [1, 10, 100, 1000])
def test_a_sample_shows_duplication(duplicates: int) -> None:
    rows = 1_000_000
    keys = (np.random.default_rng(4).permutation(rows) // duplicates).astype(np.int32)
    found = side_facts(keys, 1000.0)
    assert duplicates / 2 <= found.duplicates <= 2 * duplicates + 8, found
    assert found.rate_per_ms == 1000


def test_a_hot_key_is_seen() -> None:
    keys = np.random.default_rng(5).permutation(1_000_000)
    keys[keys < 200_000] = 7
    assert side_facts(keys, None).top_share == pytest.approx(0.2, abs=0.03)
    assert side_facts(keys, None).rate_per_ms == inf


class Counted(np.ndarray):
    """Counts the elements that are read by fancy indexing."""

    read = 0

    def __getitem__(self, at):  # type: ignore[override]
        found = super().__getitem__(at)
        Counted.read += np.size(found)
        return np.asarray(found)


def test_no_more_than_a_sample_is_read() -> None:
    keys = np.arange(1_000_000).view(Counted)
    Counted.read = 0
    side_facts(keys, None)
    assert 0 < Counted.read <= SAMPLE_ROWS


def test_small_and_empty_sides() -> None:
    assert side_facts(np.empty(0, np.int32), None) == SideFacts(0, 0.0, 1.0, 0.0)
    small = side_facts(np.array([1, 1, 2], np.int32), 3.0)
    assert (small.rows, small.rate_per_ms, small.duplicates) == (3, 1.0, pytest.approx(5 / 3))
    nothing = np.empty(0, np.int32)
    assert tree(facts_at_rest(nothing, nothing, 1)).algorithm == chosen("auto", nothing, nothing, 1)


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


def seconds(name: str, window, ns: dict[str, float]) -> float:
    return ns[name] * window.rows / 1e9


def test_it_learns_from_what_joins_took() -> None:
    chooser = Adaptive(costs(), write_pairs=False)
    window, truth = facts(inf), {**FLAT, "prj": 100.0}
    chosen = []
    for _ in range(12):
        chosen.append(chooser.choose(window).algorithm)
        chooser.learn(chosen[-1], window, seconds(chosen[-1], window, truth))
    assert chosen[0] == "prj"
    assert set(chosen[-4:]) == {"mway"}, chosen


@pytest.mark.parametrize("seed", range(20))
def test_it_settles_near_the_best_whatever_the_costs_said(seed: int) -> None:
    """The costs are wrong by up to a half either way, the windows noisy by a fifth: after some windows it
    is within a quarter of the best, and few windows were spent on trying."""
    rng = np.random.default_rng(seed)
    truth = {name: ns * rng.uniform(0.67, 1.5) for name, ns in FLAT.items()}
    chooser, window = Adaptive(costs(), write_pairs=False), facts(inf)
    spent = []
    for _ in range(40):
        name = chooser.choose(window).algorithm
        spent.append(truth[name])
        chooser.learn(name, window, seconds(name, window, truth) * rng.uniform(0.9, 1.1))
    best = min(truth.values())
    assert np.median(spent[-20:]) <= 1.25 * best, (seed, truth)
    assert np.mean(spent) <= 1.5 * best, (seed, truth)


def test_windows_that_were_held_up_are_forgiven() -> None:
    """Of five windows of the best algorithm three took long, as the machine had other things to do."""
    chooser, window = Adaptive(costs(), write_pairs=False), facts(inf)
    for name in ALGORITHMS:
        for _ in range(2):
            chooser.learn(name, window, seconds(name, window, FLAT))
    best = chooser.choose(window).algorithm
    for _ in range(3):
        chooser.learn(best, window, 3 * seconds(best, window, FLAT))
    assert chooser.choose(window).algorithm == best
    for _ in range(2):  # five in a row are no accident
        chooser.learn(best, window, 3 * seconds(best, window, FLAT))
    assert chooser.choose(window).algorithm != best


def test_what_came_near_is_tried_again_after_a_while() -> None:
    """PRJ has become slow, MWay is all there is: once its figures are stale, PRJ is given a chance."""
    chooser, window = Adaptive(costs(), write_pairs=False), facts(inf)
    for name in ALGORITHMS:
        for _ in range(2):
            near = {"prj": 10.5, "mway": 10.0}.get(name, 100.0)
            chooser.learn(name, window, near * window.rows / 1e9)
    assert chooser.choose(window).algorithm == "mway"
    for _ in range(STALE_WINDOWS):
        chooser.learn("mway", window, 10.0 * window.rows / 1e9)
    assert chooser.choose(window).algorithm == "prj"


def test_it_changes_its_mind_as_the_stream_changes() -> None:
    chooser = Adaptive(costs(), "latency")
    windows = [facts(500, 5_000)] * 2 + [facts(1e6)] * 2
    assert [chooser.choose(window).algorithm for window in windows] == ["shj_jm", "shj_jm", "prj", "prj"]


def test_what_is_learnt_of_one_kind_of_window_says_nothing_of_another() -> None:
    chooser = Adaptive(costs(), write_pairs=False)
    for _ in range(3):
        chooser.learn("prj", facts(inf), 9.0)
    assert chooser.choose(facts(inf)).algorithm != "prj"
    assert chooser.choose(facts(inf, 10_000, 500.0)).algorithm == "prj"


def test_it_says_why() -> None:
    chooser = Adaptive(costs(), write_pairs=False)
    assert "not tried on this kind yet" in str(chooser.choose(facts(inf)))
    chooser.learn("prj", facts(inf), 0.02)
    assert "by its last 1 windows of this kind" in str(chooser.choose(facts(inf)))


def test_a_choice_is_learnt_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "LARGE_ROWS", 1000)
    monkeypatch.setattr(cost, "ROWS", (256, 512, 1024, 2048))
    monkeypatch.setattr(cost, "PAIRS", 4096)
    chooser = Chooser(pays_from_rows=5000)
    keys = np.random.default_rng(1).integers(0, 500, 2000)
    expected = {(i, j) for j, key in enumerate(keys[::-1].tolist()) for i in np.flatnonzero(keys == key)}
    other = keys[::-1].copy()
    for number in range(4):
        found, choice = chooser.joined(keys, other, 2, lambda name: pairs(keys, other, name, 2), pairs=True)
        assert choice.algorithm in LAZY
        assert set(zip(*(side.tolist() for side in found), strict=True)) == expected, number
        assert ("ms expected" in str(choice)) == (number >= 1)
    _, small = chooser.joined(keys[:10], keys[:10], 2, lambda name: 0, pairs=True)
    assert small.algorithm == "npj"
