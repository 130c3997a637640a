"""The choice that learns: made-up costs and made-up windows in, choices out."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dovetail.intra_window.adaptive import STALE_WINDOWS, Adaptive
from dovetail.intra_window.join import ALGORITHMS
from unit.joins.window_costs import FLAT, costs, facts


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
