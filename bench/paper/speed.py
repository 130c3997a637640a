"""How fast the parts are, beside what they could be: no figures of a paper.

A *mark* is what a value should reach on a quiet machine, with the verdict of this run. Values are medians
over turns; where two things are compared they take turns, and the median is that of the turns' ratios.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bench.paper.exhibit import HELD, Effort, Made
from bench.tables import Table

MARKS = ("", "median", "from", "to", "should be", "")
OVER_COPYING = {"npj": 49.0, "prj": 23.0, "mway": 45.0, "mpass": 67.0}
"""CPU time of one thread that joins 12.8 million unique keys a side, over that of copying the keys, as it was
when this was written."""
SLOWER = 1.25
"""Copying is measured in the same turn, and is as noisy as this."""


@dataclass(frozen=True)
class Mark:
    """Values of all turns, and what their median should be. `most`: at most, otherwise at least."""

    name: str
    values: Sequence[float]
    limit: float
    most: bool = False
    digits: int = 2

    @property
    def held(self) -> bool:
        middle = median(self.values)
        return middle <= self.limit if self.most else middle >= self.limit

    def row(self) -> tuple[str, ...]:
        def shown(value: float) -> str:
            return f"{value:,.{self.digits}f}"

        bound = f"{'at most' if self.most else 'at least'} {shown(self.limit)}"
        values = (median(self.values), min(self.values), max(self.values))
        return (self.name, *map(shown, values), bound, HELD[self.held])


def _made(marks: Sequence[Mark], more: dict[str, Table] | None = None, right: bool = True) -> Made:
    """A table of marks, and others before it."""
    values = {mark.name: median(mark.values) for mark in marks}
    return Made(
        {**(more or {}), "marks": Table(MARKS, [mark.row() for mark in marks])}, values=values, right=right
    )


def scan(effort: Effort) -> Made:
    """The band scan beside the same loops in C, by CPU time."""
    from bench.sliding_scan import compared

    found = compared(1 if effort.quick else 7, (1 << 14,) if effort.quick else None)
    rows, marks = [], []
    for one in found:
        window = f"2^{one['window'].bit_length() - 1}"
        speeds = [
            f"{one[key] / 1e9:.1f}" for key in ("ours_one", "c_one", "ours_four", "c_four") if key in one
        ]
        rows.append((window, *speeds))
        if "ratios_one" in one:
            marks += [
                Mark(f"{rows_a_pass} a pass over C, {window}", one[key], 0.95)
                for rows_a_pass, key in (("one row", "ratios_one"), ("four rows", "ratios_four"))
            ]
    heads = ("window", "one row a pass", "C", "four rows a pass", "C")
    return _made(marks, {"billion comparisons per second on one core": Table(heads, rows)})


def cores(effort: Effort) -> Made:
    """SplitJoin's core beside the bare scan of as many rows, by CPU time of its thread; two cores over one,
    by the clock, beside two bare scans over one: the limit of the machine."""
    from bench.sliding_rates import Case, filled, full_speed
    from bench.sliding_scan import four_rows_per_s, halves_over_whole

    windows = (1 << 10,) if effort.quick else (1 << 16, 1 << 18, 1 << 20)
    turns, seconds = (1, 0.02) if effort.quick else (5, effort.seconds / 2)
    marks, rows = [], []
    for window in windows:
        name, ratios, speeds = f"2^{window.bit_length() - 1}", [], []
        case = Case(window=window, batch=1024)
        with filled(case) as join:
            full_speed(join, case, seconds, time.thread_time)
            for turn in range(turns):
                joined = full_speed(join, case, seconds, time.thread_time, turn) * window
                bare = four_rows_per_s(window, seconds) * window
                speeds.append((joined, bare))
                ratios.append(joined / bare)
        rows.append((name, *(f"{median(side) / 1e9:.1f}" for side in zip(*speeds, strict=True))))
        marks.append(Mark(f"a core over the bare scan, {name}", ratios, 0.85))
    window = windows[0] if effort.quick else 1 << 18
    one, two = Case(window=window, batch=1024), Case(window=window, cores=2, batch=1024)
    ratios, limits, shares, speeds = [], [], [], []
    with filled(one) as alone, filled(two) as both:
        for turn in range(turns):
            rates = [
                full_speed(join, case, seconds, time.perf_counter, turn)
                for join, case in ((alone, one), (both, two))
            ]
            rates += halves_over_whole(window, seconds)
            speeds.append(rates)
            ratios.append(rates[1] / rates[0])
            limits.append(rates[3] / rates[2])
            shares.append(ratios[-1] / limits[-1])
    name = f"2^{window.bit_length() - 1}"
    marks += [
        Mark(f"two cores over one, {name}", ratios, 1.8),
        Mark(f"two bare scans of half a window over one of all (the machine's limit), {name}", limits, 1.8),
        Mark(f"two cores over one, of that limit, {name}", shares, 0.9),
    ]
    by_clock = Table(
        ("window", "one core", "two cores", "one bare scan", "two bare scans, half a window each"),
        [(name, *(f"{median(side):,.0f}" for side in zip(*speeds, strict=True)))],
    )
    heads = ("window", "a core", "the bare scan")
    return _made(
        marks,
        {
            "billion comparisons per second of CPU, four rows a pass": Table(heads, rows),
            "rows per second by the clock": by_clock,
        },
    )


def index(effort: Effort) -> Made:
    """The band index on one core, results read. The paper has a rate of one of the windows."""
    from bench.sliding_parts import PAPER_ROWS_PER_S, PAPER_WINDOW
    from bench.sliding_rates import Case, measured

    windows, turns = ((1 << 10,), 1) if effort.quick else ((1 << 16, 1 << 18, PAPER_WINDOW), 3)
    rows, marks = [], []
    for window in windows:
        case = Case(
            window=window, access="cells", seconds=0.02 if effort.quick else effort.seconds, batch=512
        )
        found = [measured(case) for _ in range(turns)]
        held = [one.held_rows_per_s for one in found]
        name = f"2^{window.bit_length() - 1}"
        taken = median(one.taken_rows_per_s for one in found)
        times = f"{median(held) / PAPER_ROWS_PER_S:.0f}" if window == PAPER_WINDOW else ""
        rows.append((name, f"{taken:,.0f}", f"{median(held):,.0f}", times))
        if window == PAPER_WINDOW:
            marks.append(Mark(f"rows per second held, {name}", held, 300_000, digits=0))
    heads = ("window", "rows/s", "held", f"times the paper's {PAPER_ROWS_PER_S:,} at 2^21")
    return _made(marks, {"": Table(heads, rows)})


def single_rows(effort: Effort) -> Made:
    """Rows one at a time: the stages of a row, and the time from the call of `push` until pairs are there."""
    from bench.sliding_rates import Case, from_push_us, latency
    from bench.sliding_work import BAND, EQUAL

    window, rows = (1 << 10, 100) if effort.quick else (1 << 14, int(2_000 * max(effort.seconds, 1)))
    turns = 1 if effort.quick else 3
    stages, marks = [], []
    for predicate, domain in ((EQUAL, 10_000), (BAND, 1_000)):
        case = Case(window=window, access="cells", predicate=predicate, domain=domain)
        found = [latency(case, 2_000, rows) for _ in range(turns)]
        found = [one for one in found if one]
        pushed = [median(times) for _ in range(turns) if (times := from_push_us(case, 2_000, rows))]
        if not found or not pushed:
            continue
        names = ("distribution", "execution", "gathering", "end_to_end")
        medians = [f"{median(one[stage] for one in found):,.0f}" for stage in names]
        stages.append((f"`{predicate}`", *medians, f"{median(pushed):,.0f}"))
        kind = "equality" if predicate == EQUAL else "band"
        marks += [
            Mark(f"end to end, {kind}", [one["end_to_end"] for one in found], 100, most=True, digits=0),
            Mark(f"from the call of push, {kind}", pushed, 100, most=True, digits=0),
        ]
    heads = ("predicate", "distribution", "execution", "gathering", "end to end", "from the call of push")
    caption = f"median microseconds at 2,000 rows/s, one core, windows of 2^{window.bit_length() - 1}"
    return _made(marks, {caption: Table(heads, stages)})


def simulator(effort: Effort) -> Made:
    """The simulator beside the measurement, with costs measured just before."""
    from bench import sliding_costs

    windows, seconds = ([1 << 10], 0.02) if effort.quick else ([1 << 16, 1 << 18], effort.seconds)
    repeat = 1 if effort.quick else 3
    found = sliding_costs.beside(sliding_costs.costs(repeat), windows, seconds, repeat)
    rows = [
        (
            f"2^{one['window'].bit_length() - 1}",
            f"{one['cores']}",
            f"{one['measured']:,.0f}",
            f"{one['simulated']:,.0f}",
            f"{one['ratio']:.2f}",
        )
        for one in found
    ]
    return Made({"": Table(("window", "cores", "measured rows/s", "simulated", "ratio"), rows)})


def tasks(effort: Effort) -> Made:
    """`bench theta`: the same work in one task and in two, a join step alone and a whole application."""
    from bench import theta, theta_spark
    from bench.theta_work import Load

    loads = {
        "by scan": ("scan", Load(400_000, 1_000, 1)),
        "by band index": ("index", Load(400_000, 100_000, 1)),
        "by band index, small steps": ("steps", Load(400_000, 1_000, 50)),
    }
    repeat = 3
    if effort.quick:
        loads, repeat = {"by scan": ("scan", Load(2_000, 500, 1))}, 1
    found = {name: theta.measure(path, load, repeat, effort.seed) for name, (path, load) in loads.items()}
    if not effort.quick:
        found["on Spark, by scan"] = theta_spark.measure(300_000, repeat, effort.seed)
    rows = [
        (
            name,
            f"{one['rows']:,}",
            f"{one.get('steps', '')}",
            *(f"{one['rows_per_s'][count]:,.0f}" for count in ("1", "2")),
            f"{one['ratio']:.2f}",
            f"{one['cpu_ratio']:.2f}" if "cpu_ratio" in one else "",
        )
        for name, one in found.items()
    ]
    heads = ("", "new rows per side", "steps", "one task, rows/s", "two tasks", "ratio", "ratio by CPU time")
    right = all(one["right"] for one in found.values())
    return Made({"": Table(heads, rows)}, values={n: one["ratio"] for n, one in found.items()}, right=right)


def threads(effort: Effort) -> Made:
    """Two threads over one, unique keys, matches counted: by the clock, and by the CPU time of all threads,
    which is what the clock would show if both had a core to themselves. Of lazy joins also the CPU time of
    one thread over that of copying their input, beside what it was: so it shows if they become slower."""
    from bench.window_studies import MEMORY
    from bench.window_workloads import Micro
    from dovetail.intra_window.join import ALGORITHMS, match

    rows_a_side = 2_000 if effort.quick else 12_800_000
    turns = 1 if effort.quick else 3
    window = Micro(rows_a_side // 1000, rows_a_side // 1000, seed=effort.seed, at_rest=True).make()
    expected, right, rows, marks = window.matches, True, [], []
    for algorithm in ALGORITHMS:
        for count in (1, 2):  # its kernels, and the memory of both
            match(window.left, window.right, algorithm, count, memory=MEMORY)
        spent: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
        for _ in range(turns):
            for count, times in spent.items():
                began, cpu = time.perf_counter(), time.process_time()
                found = match(window.left, window.right, algorithm, count, memory=MEMORY)
                times.append((time.perf_counter() - began, time.process_time() - cpu))
                right &= found == expected
        gains = [one[0] / two[0] for one, two in zip(spent[1], spent[2], strict=True)]
        by_cpu = [2 * one[1] / two[1] for one, two in zip(spent[1], spent[2], strict=True)]
        speeds = [f"{window.rows / median(took for took, _ in spent[n]) / 1e6:.1f}" for n in (1, 2)]
        rows.append((algorithm, *speeds, f"{median(gains):.2f}", f"{median(by_cpu):.2f}"))
        lazy = "_j" not in algorithm
        marks.append(Mark(f"{algorithm}, two threads over one", gains, 1.0 if lazy else 1.3))
        if lazy:
            copies = [one[1] / _copying_s(window) for one in spent[1]]
            limit = SLOWER * OVER_COPYING[algorithm]
            name = f"{algorithm}, CPU time of one thread over that of copying its keys"
            marks.append(Mark(name, copies, limit, most=True, digits=1))
    heads = ("", "million rows/s, one thread", "two threads", "gain", "gain by CPU time")
    caption = f"{rows_a_side:,} unique keys a side, memory used again"
    return _made(marks, {caption: Table(heads, rows)}, right)


def _copying_s(window: Any) -> float:
    """CPU time of copying both sides into memory that is there."""
    into = [np.empty_like(side) for side in (window.left, window.right)]
    for _ in range(2):
        began = time.process_time()
        for there, side in zip(into, (window.left, window.right), strict=True):
            np.copyto(there, side)
        took = time.process_time() - began
    return max(took, 1e-9)


def at_rest(effort: Effort) -> Made:
    """The study `speed` of `bench window`: matches of rows at rest, counted, with one thread and with two;
    and, for the smaller windows, every pair looked at."""
    from dataclasses import replace

    from bench.window_studies import Size, run_study, studies
    from dovetail.intra_window.join import ALGORITHMS

    size = Size(0.002 if effort.quick else 1.0, effort.data, effort.seed, (1, 2))
    study = next(one for one in studies(size) if one.name == "speed")
    if effort.quick:
        study = replace(study, points=study.points[:1])
    runs = run_study(study, (1, 2), ALGORITHMS, 1 if effort.quick else 3, lambda line: None)
    speed = {(run.algorithm, run.point, run.threads): run.rows_per_s / 1e6 for run in runs}
    labels = [point.label for point in study.points]
    rows = [
        (name, *(f"{speed[name, label, 1]:.0f}, {speed[name, label, 2]:.0f}" for label in labels))
        for name in ALGORITHMS
    ]
    caption = "million input rows per second with one thread and with two, by rows a side x rows per key"
    looked, right = looked_at(study.points[:3], effort.threads, 1 if effort.quick else 3)
    pairs = f"the same with every pair looked at, {effort.threads} threads"
    tables = {
        caption: Table(("", *labels), rows),
        pairs: Table(
            ("", *looked),
            [(name, *(f"{cells[name]:.1f}" for cells in looked.values())) for name in ALGORITHMS],
        ),
    }
    values = {"speed": speed, "looked at": looked}
    return Made(tables, values=values, right=right and all(run.right for run in runs))


def looked_at(points: Sequence[Any], threads: int, repeat: int) -> tuple[dict[str, dict[str, float]], bool]:
    """Million input rows per second of rows at rest when every pair is looked at, the best of `repeat` runs,
    by point and algorithm; and whether all pairs were found in each."""
    from dovetail.intra_window.join import match, summed

    rates: dict[str, dict[str, float]] = {}
    right = True
    for point in points:
        window = point.make().at_rest()
        expected, cells = window.matches, rates.setdefault(point.label, {})
        for name in point.algorithms:
            match(window.left[:64], window.right[:64], name, threads)
            best = float("inf")
            for _ in range(repeat):
                began = time.perf_counter()
                pairs, _ = summed(window.left, window.right, name, threads)
                best = min(best, time.perf_counter() - began)
                right &= pairs == expected
            cells[name] = window.rows / best / 1e6
    return rates, right
