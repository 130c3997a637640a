"""*Parallelizing Intra-Window Join on Multicores* (SIGMOD 2021): sections 4.2 and 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench.paper import speed
from bench.paper.exhibit import Effort, Exhibit, Made, Paper
from bench.paper.intra_window_findings import (
    CORES_FOUND,
    DUPLICATES_FOUND,
    FIGURE_3_FOUND,
    GROUP_FOUND,
    HALF,
    KEY_SKEW_FOUND,
    LATE,
    MEMORY_FOUND,
    PARTITIONING,
    PHYSICAL_FOUND,
    RADIX_FOUND,
    RATE,
    RATE_FOUND,
    RELATIVE_FOUND,
    SORTING_STEP_FOUND,
    TABLE_3_FOUND,
    TIME_SKEW_FOUND,
    WINDOW_FOUND,
    WORKLOADS_FOUND,
)
from bench.paper.simd import FIGURE_21_FOUND, figure_21
from bench.tables import Table

# What is run


def study(name: str, *figures: str) -> Callable[[Effort], Made]:
    """One of the studies of `bench window`, as tables with a line for each algorithm."""

    def make(effort: Effort) -> Made:
        from bench.window_report import PREFIX, draw
        from bench.window_studies import Size, run_study, studies
        from dovetail.intra_window.join import ALGORITHMS

        size = Size(0.002 if effort.quick else effort.scale, effort.data, effort.seed, (effort.threads,))
        found = next(one for one in studies(size) if one.name == name)
        algorithms, repeat = (ALGORITHMS, 3)
        if effort.quick:
            found = replace(found, points=found.points[:1])
            algorithms, repeat = ("prj", "shj_jm", "pmj_jb"), 1
        runs = run_study(found, (effort.threads,), algorithms, repeat, lambda line: None)
        pictures = ()
        if effort.out is not None:
            draw(found, runs, effort.out)
            pictures = (f"{PREFIX}-{found.figure}.svg",)
        measures: dict[str, Callable[[Any], float | None]] = {RATE: lambda run: run.rows_per_s / 1e6}
        if found.moving:
            measures |= {LATE: lambda run: run.p95_latency_ms, HALF: lambda run: run.half_ms}
        values = {
            caption: {
                point.label: {run.algorithm: value(run) for run in runs if run.point == point.label}
                for point in found.points
            }
            for caption, value in measures.items()
        }
        tables = {caption: _grid(found.axis, by_point) for caption, by_point in values.items()}
        if "figure_7" in figures:
            tables |= _phases(runs)
            values["phases"] = {(run.point, run.algorithm): run.phases_ns_per_row for run in runs}
        return Made(tables, pictures, values, all(run.right for run in runs))

    return make


def _grid(axis: str, by_point: Mapping[str, Mapping[str, float | None]]) -> Table:
    names = list(dict.fromkeys(name for cells in by_point.values() for name in cells))
    rows = [(name, *(_cell(cells.get(name)) for cells in by_point.values())) for name in names]
    return Table((axis, *by_point), rows)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _phases(runs: Sequence[Any]) -> dict[str, Table]:
    """Figure 7: where the time of a row goes, by workload."""
    phases = list(runs[0].phases_ns_per_row)
    return {
        f"ns per input row by phase, {point}": Table(
            ("", *phases),
            [
                (run.algorithm, *(f"{run.phases_ns_per_row[phase]:,.0f}" for phase in phases))
                for run in runs
                if run.point == point
            ],
        )
        for point in dict.fromkeys(run.point for run in runs)
    }


def written(effort: Effort) -> Made:
    """Figure 13 twice: pairs counted, where rows of one key are multiplied, and every pair looked at."""
    import time

    from bench.window_studies import Size, studies
    from dovetail.intra_window.join import match, summed

    counted = study("key_skew")(effort)
    size = Size(
        0.002 if effort.quick else min(effort.scale, 0.02), effort.data, effort.seed, (effort.threads,)
    )
    found = next(one for one in studies(size) if one.name == "key_skew")
    points = found.points[:1] if effort.quick else found.points
    rates: dict[str, dict[str, float]] = {}
    right = counted.right
    for point in points:
        window = point.make()
        expected, cells = window.matches, rates.setdefault(point.label, {})
        for name in point.algorithms:
            match(window.left[:64], window.right[:64], name, effort.threads)
            began = time.perf_counter()
            pairs, _ = summed(window.left, window.right, name, effort.threads)
            cells[name] = window.rows / (time.perf_counter() - began) / 1e6
            right &= pairs == expected
    caption = f"{RATE}, every pair looked at ({size.rate(12_800) * 1000:,} rows a side)"
    tables = {f"{RATE}, pairs counted": counted.tables[RATE], caption: _grid("Zipf", rates)}
    return Made(tables, counted.pictures, {**counted.values, "written": rates}, right)


def table_3(effort: Effort) -> Made:
    """Statistics of the workloads, of the rows that are joined here."""
    from bench.window_workloads import WORKLOADS

    rows, keys_of = [], {}
    for name, make in WORKLOADS.items():
        window = make(0.01 if effort.quick else 1.0 if name != "rovio" else 0.1, effort.data, effort.seed)
        cells = []
        for keys in (window.left, window.right):
            distinct = len(np.unique(keys))
            keys_of.setdefault(name, []).append(len(keys) / max(distinct, 1))
            cells += [f"{len(keys):,}", f"{distinct:,}", f"{len(keys) / max(distinct, 1):,.1f}"]
        rows.append((name, *cells))
    heads = ("", "rows of R", "keys of R", "rows per key", "rows of S", "keys of S", "rows per key")
    return Made({"": Table(heads, rows)}, values={"per_key": keys_of})


def figure_3(effort: Effort) -> Made:
    """How the rows of Stock and Rovio are spread over a second: the busiest of its milliseconds."""
    from bench.window_workloads import WORKLOADS

    rows, peaks = [], {}
    for name in ("stock", "rovio"):
        window = WORKLOADS[name](1.0 if name == "stock" else 0.01, effort.data, effort.seed)
        for side, times in (("R", window.left_us), ("S", window.right_us)):
            counts = np.bincount(np.asarray(times) // 1000, minlength=1000)
            mean, peak = counts.mean(), int(counts.max())
            peaks.setdefault(name, []).append(peak / mean)
            rows.append(
                (f"{name}, {side}", f"{len(times):,}", f"{mean:,.1f}", f"{peak:,}", f"{peak / mean:,.1f}")
            )
    heads = ("", "rows", "rows per ms, mean", "rows of the busiest ms", "busiest over mean")
    return Made({"": Table(heads, rows)}, values={"peaks": peaks})


def group_size(effort: Effort) -> Made:
    """Figure 16, with the router of the paper and the join-matrix beside it."""
    from bench.window_studies import Point, Size, Study, run_study
    from dovetail.intra_window.knobs import Knobs

    size = Size(0.002 if effort.quick else effort.scale, None, effort.seed, (effort.threads,))
    rest = size.micro(12_800, 12_800, at_rest=True)
    points = [
        *(
            Point(f"group of {g}", rest, ("shj_jb", "pmj_jb"), Knobs(group_size=g))
            for g in range(1, effort.threads + 1)
        ),
        Point("group of 1, router", rest, ("shj_jb", "pmj_jb"), Knobs(router=True)),
        Point("join matrix", rest, ("shj_jm", "pmj_jm")),
    ]
    made = Study("group_size", "figure-16", "", "", False, tuple(points))
    runs = run_study(
        made,
        (effort.threads,),
        ("shj_jb", "pmj_jb", "shj_jm", "pmj_jm"),
        1 if effort.quick else 5,
        lambda line: None,
    )
    measures: dict[str, Callable[[Any], float]] = {
        RATE: lambda run: run.rows_per_s / 1e6,
        PARTITIONING: lambda run: run.phases_ns_per_row["partition"],
    }
    values = {
        caption: {
            point.label: {run.algorithm[:3]: value(run) for run in runs if run.point == point.label}
            for point in points
        }
        for caption, value in measures.items()
    }
    tables = {caption: _grid("", by_point) for caption, by_point in values.items()}
    return Made(tables, values=values, right=all(run.right for run in runs))


def memory(effort: Effort) -> Made:
    """Figure 19b and the CPU use of Table 6, on Rovio."""
    import time

    from bench.window_studies import MemoryLine
    from bench.window_workloads import WORKLOADS
    from dovetail.intra_window.join import ALGORITHMS, match
    from dovetail.intra_window.metrics import measure

    window = WORKLOADS["rovio"](0.0005 if effort.quick else effort.scale / 5, effort.data, effort.seed)
    names = ("prj", "shj_jm") if effort.quick else ALGORITHMS
    rows, values, right = [], {}, True
    for name in names:
        match(window.left[:64], window.right[:64], name, effort.threads)
        began, cpu = time.perf_counter(), time.process_time()
        with MemoryLine() as line:
            seen = measure(
                window.left, window.right, name, effort.threads, None, window.left_us, window.right_us
            )
        wall, used = time.perf_counter() - began, time.process_time() - cpu
        right &= seen.matches == window.matches
        share = used / (wall * effort.threads)
        values[name] = {"peak": line.peak, "cpu": share}
        rows.append((name, f"{line.peak / 2**20:,.1f}", f"{share:.0%}"))
    heads = ("", "memory at most, MiB", f"CPU use of {effort.threads} cores")
    return Made({"": Table(heads, rows)}, values=values, right=right)


def figure_20(effort: Effort) -> Made:
    """Throughput by threads: MPass for the lazy joins, SHJ-JM for the eager ones."""
    from bench.window_workloads import WORKLOADS
    from dovetail.intra_window.join import match
    from dovetail.intra_window.metrics import measure

    values: dict[str, dict[str, float]] = {}
    right = True
    for workload in ("stock", "rovio", "ysb", "debs"):
        share = {"stock": 1.0, "rovio": effort.scale / 5}.get(workload, effort.scale)
        window = WORKLOADS[workload](0.001 if effort.quick else share, effort.data, effort.seed)
        for name in ("mpass", "shj_jm"):
            match(window.left[:64], window.right[:64], name, effort.threads)
            for threads in range(1, effort.threads + 1):
                seen = measure(
                    window.left, window.right, name, threads, None, window.left_us, window.right_us
                )
                right &= seen.matches == window.matches
                values.setdefault(f"{name}, {workload}", {})[str(threads)] = seen.rows_per_s / 1e6
        if effort.quick:
            break
    gains = {name: cells[str(effort.threads)] / cells["1"] for name, cells in values.items()}
    rows = [
        (name, *(f"{value:.2f}" for value in cells.values()), f"{gains[name]:.2f}")
        for name, cells in values.items()
    ]
    threads = [f"{n} thread{'s' if n > 1 else ''}" for n in range(1, effort.threads + 1)]
    return Made({RATE: Table(("", *threads, "gain"), rows)}, values={"gains": gains}, right=right)


COUNTERS = "needs hardware counters, which a shared machine does not give"
OURS = "none: not of the paper"
TENTH = "a tenth of the paper's rates by default: `--scale 1` where memory permits"

PAPER = Paper(
    "intra-window",
    "intra-window-2021.md",
    (
        Exhibit("table_3", "statistics of the workloads", "4.2.1", "computed", table_3, TABLE_3_FOUND),
        Exhibit(
            "figure_3", "when rows of Stock and Rovio come", "4.2.1", "computed", figure_3, FIGURE_3_FOUND
        ),
        Exhibit(
            "table_4",
            "the machine",
            "5",
            "not shown",
            note="eight cores of a Xeon there; here whatever the command runs on",
        ),
        Exhibit(
            "figure_4",
            "the decision tree",
            "5.1",
            "not shown",
            note='it is code: `src/dovetail/intra_window/choose.py`; "The choice" below compares it',
        ),
        Exhibit(
            "figures_5_6_7",
            "throughput, latency, progress and phases of five workloads",
            "5.2, 5.3",
            "measured",
            study("workloads", "figure_7"),
            WORKLOADS_FOUND,
            TENTH,
        ),
        Exhibit("figure_8", "cache misses by phase on YSB", "5.3.1", "not shown", note=COUNTERS),
        Exhibit("figure_9", "rate of both streams", "5.4", "measured", study("rate"), RATE_FOUND, TENTH),
        Exhibit(
            "figure_10",
            "rate of S, that of R at 1,600",
            "5.4",
            "measured",
            study("relative_rate"),
            RELATIVE_FOUND,
            TENTH,
        ),
        Exhibit(
            "figure_11",
            "rows per key",
            "5.4",
            "measured",
            study("duplicates"),
            DUPLICATES_FOUND,
            TENTH,
        ),
        Exhibit(
            "figure_12", "skew of arrival", "5.4", "measured", study("time_skew"), TIME_SKEW_FOUND, TENTH
        ),
        Exhibit(
            "figure_13",
            "skew of keys",
            "5.4",
            "measured",
            written,
            KEY_SKEW_FOUND,
            "at rest, and pairs both counted and looked at",
        ),
        Exhibit("figure_14", "length of the window", "5.4", "measured", study("window"), WINDOW_FOUND, TENTH),
        Exhibit(
            "figure_15",
            "sorting step of PMJ",
            "5.5",
            "measured",
            study("sorting_step"),
            SORTING_STEP_FOUND,
            "as many rows on both sides; the paper has ten times as many in S",
        ),
        Exhibit(
            "figure_16",
            "group size of the biclique",
            "5.5",
            "measured",
            group_size,
            GROUP_FOUND,
            "without the router that records where each row went, but for one column",
        ),
        Exhibit(
            "figure_17", "rows by number or by value", "5.5", "measured", study("physical"), PHYSICAL_FOUND
        ),
        Exhibit("figure_18", "radix bits of PRJ", "5.5", "measured", study("radix_bits"), RADIX_FOUND),
        Exhibit("figure_19a", "where cycles go, top down", "5.6", "not shown", note=COUNTERS),
        Exhibit(
            "figure_19b",
            "memory on Rovio, with the CPU use of Table 6",
            "5.6",
            "measured",
            memory,
            MEMORY_FOUND,
            "resident memory above that before the join",
        ),
        Exhibit("table_5", "counters per input row", "5.6", "not shown", note=COUNTERS),
        Exhibit(
            "table_6",
            "memory bandwidth and CPU use",
            "5.6",
            "not shown",
            note=f"the CPU use is with figure 19b; the bandwidth {COUNTERS}",
        ),
        Exhibit(
            "figure_20",
            "throughput by cores",
            "5.6",
            "measured",
            figure_20,
            CORES_FOUND,
            "up to the cores of the machine",
        ),
        Exhibit(
            "figure_21",
            "sorting joins with and without vector instructions",
            "5.6",
            "measured",
            figure_21,
            FIGURE_21_FOUND,
            "off means no AVX, and no vectorizing compiler",
        ),
        Exhibit("speed_rest", "rows at rest, matches counted", OURS, "measured", speed.at_rest),
        Exhibit(
            "speed_threads",
            "two threads beside one, 12.8 million unique keys",
            OURS,
            "measured",
            speed.threads,
        ),
    ),
)
