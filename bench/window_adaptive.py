"""The choice that learns, beside the best of the eight and the paper's tree: real windows, one after another.

In every round all eight algorithms join the workload's window once. Each of three choosers, one for each
wish, then joins it a few times by its own choice and learns from that. So all are measured in the same
minutes. A loss says how much worse a median is than that of the best of the eight: 0 % is the best choice.
`settled` is what the chooser would take after the last round, `run` the second half of the windows it really
joined. `behind` is the share of rounds in which a choice was more than a tenth worse than the best one in the
same round: of two that are alike one has the better median by chance, but is not ahead in nearly all rounds.

`changing` is a stream that changes halfway: first unique keys, then keys with very many rows, at rest, every
match looked at. It gives the time of the whole run for each algorithm and for the choice that learns, and
beside it the time that calibrating takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import get_args

from bench.window_workloads import Micro, Window, debs
from dovetail.intra_window.adaptive import Adaptive
from dovetail.intra_window.choose import StreamFacts, Wish, side_facts, tree
from dovetail.intra_window.cost import JoinCosts, calibrate
from dovetail.intra_window.join import ALGORITHMS, summed
from dovetail.intra_window.metrics import MeasuredWindow, measure

Say = Callable[[str], None]
TRIES_A_ROUND = 3
NEAR = 0.1
VALUES: dict[str, Callable[[MeasuredWindow], float]] = {
    "throughput": lambda seen: (seen.last_match_us or 0) / 1e6,
    "latency": lambda seen: (seen.latency_us["p95"] or 0) / 1e6,
    "progress": lambda seen: (seen.until_share_us(0.5) or 0) / 1e6,
}
"""In seconds, to be small."""


def facts_of(window: Window, threads: int) -> StreamFacts:
    """Each side by its own times: a side at rest has come at once."""
    sides = []
    for keys, times in ((window.left, window.left_us), (window.right, window.right_us)):
        moving = times is not None and len(times) > 0 and int(times[-1]) > 0
        sides.append(side_facts(keys, window.window_ms if moving else None))
    return StreamFacts(sides[0], sides[1], threads)


@dataclass(frozen=True)
class Settled:
    workload: str
    wish: str
    best: str
    best_ms: float
    spread: float
    """For the best one's runs: the largest over the smallest, less one."""

    tree: str
    tree_loss: float
    tree_behind: float
    settled: str
    settled_loss: float
    settled_behind: float
    run_loss: float
    tried: int
    right: bool


def settled(windows: Sequence[Window], threads: int, rounds: int, say: Say) -> list[Settled]:
    say("calibrating")
    costs = calibrate(threads)
    return [one for window in windows for one in _of_workload(window, threads, rounds, costs, say)]


def _of_workload(window: Window, threads: int, rounds: int, costs: JoinCosts, say: Say) -> list[Settled]:
    facts, expected = facts_of(window, threads), window.matches
    took: dict[str, dict[str, list[float]]] = {wish: {name: [] for name in ALGORITHMS} for wish in VALUES}
    choosers = {wish: Adaptive(costs, wish) for wish in get_args(Wish)}
    chosen: dict[str, list[tuple[str, float]]] = {wish: [] for wish in VALUES}
    right = True

    def run(name: str) -> MeasuredWindow:
        nonlocal right
        seen = measure(window.left, window.right, name, threads, None, window.left_us, window.right_us)
        right &= seen.matches == expected
        return seen

    for number in range(rounds):
        say(f"adaptive {window.name}: round {number + 1} of {rounds}")
        for name in ALGORITHMS:
            seen = run(name)
            for wish, value in VALUES.items():
                took[wish][name].append(value(seen))
        for wish, chooser in choosers.items():
            for _ in range(TRIES_A_ROUND):
                name = chooser.choose(facts).algorithm
                value = VALUES[wish](run(name))
                chooser.learn(name, facts, value)
                chosen[wish].append((name, value))
    found = []
    for wish, by_name in took.items():
        medians = {name: median(values) for name, values in by_name.items()}
        best = min(medians, key=lambda name: medians[name])
        picked, learnt = tree(facts, wish).algorithm, choosers[wish].choose(facts).algorithm
        later = [value for _, value in chosen[wish][len(chosen[wish]) // 2 :]]
        found.append(
            Settled(
                window.name,
                wish,
                best,
                medians[best] * 1000,
                max(by_name[best]) / max(1e-9, min(by_name[best])) - 1,
                picked,
                medians[picked] / medians[best] - 1,
                behind(by_name[picked], by_name[best]),
                learnt,
                medians[learnt] / medians[best] - 1,
                behind(by_name[learnt], by_name[best]),
                median(later) / medians[best] - 1,
                len({name for name, _ in chosen[wish]}),
                right,
            )
        )
    return found


def behind(values: Sequence[float], best: Sequence[float]) -> float:
    """The share of rounds in which a choice took a tenth longer, or more, than the best one did in them."""
    return fmean(value > (1 + NEAR) * other for value, other in zip(values, best, strict=True))


@dataclass(frozen=True)
class Changing:
    seconds: dict[str, list[float]]
    """For the whole run, by algorithm and for the choice that learns, in every round."""

    calibrating_s: float
    chosen: tuple[str, str]
    """What the last choice was, before the change and at the end."""

    same: bool


def changing(scale: float, threads: int, rounds: int, each: int, seed: int, say: Say) -> Changing:
    """`each`: windows before and after the change."""
    first = Micro(int(12_800 * scale), int(12_800 * scale), seed=seed, at_rest=True).make("unique keys")
    second = debs(scale, None, seed)
    say("calibrating")
    began = time.perf_counter()
    costs = calibrate(threads)
    calibrating_s = time.perf_counter() - began
    seconds: dict[str, list[float]] = {name: [] for name in (*ALGORITHMS, "adaptive")}
    sums: set[tuple[int, ...]] = set()
    ends = ("", "")
    for number in range(rounds):
        for name, spent in seconds.items():
            say(f"changing: {name}, round {number + 1} of {rounds}")
            chooser, last = Adaptive(costs), []
            checks = []
            began = time.perf_counter()
            for window in (first, second):
                for _ in range(each):
                    choice = name
                    if name == "adaptive":
                        facts = facts_of(window, threads)
                        choice = chooser.choose(facts).algorithm
                    started = time.perf_counter()
                    checks.append(summed(window.left, window.right, choice, threads))
                    if name == "adaptive":
                        chooser.learn(choice, facts, time.perf_counter() - started)
                last.append(choice)
            spent.append(time.perf_counter() - began)
            sums.add(tuple(value for check in checks for value in check))
            if name == "adaptive":
                ends = (last[0], last[1])
    return Changing(seconds, calibrating_s, ends, len(sums) == 1)
