"""*Parallelizing Intra-Window Join on Multicores* (SIGMOD 2021): sections 4.2 and 5."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.paper import speed
from bench.paper.exhibit import Effort, Exhibit, Made, Paper
from bench.paper.intra_window_choice import change, choice
from bench.paper.intra_window_findings import (
    CORES_FOUND,
    CPU_FOUND,
    DUPLICATES_FOUND,
    FIGURE_3_FOUND,
    GROUP_FOUND,
    KEY_SKEW_FOUND,
    MEMORY_FOUND,
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
from bench.paper.intra_window_studies import both_ways, group_size, key_skew, sorting_step, study
from bench.paper.plots import lines
from bench.paper.simd import FIGURE_21_FOUND, figure_21
from bench.tables import Table


def table_3(effort: Effort) -> Made:
    """Statistics of the workloads, of the rows that are joined here."""
    from bench.window_workloads import WORKLOADS

    rows, keys_of = [], {}
    for name, make in WORKLOADS.items():
        window = make(0.01 if effort.quick else 1.0, effort.data, effort.seed)
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
    spread: dict[str, dict[str, float]] = {}
    for name in ("stock", "rovio"):
        window = WORKLOADS[name](1.0, effort.data, effort.seed)
        for side, times in (("R", window.left_us), ("S", window.right_us)):
            counts = np.bincount(np.asarray(times) // 1000, minlength=1000)
            mean, peak = counts.mean(), int(counts.max())
            peaks.setdefault(name, []).append(peak / mean)
            shares = counts[:1000].reshape(-1, 20).sum(axis=1) / counts.sum() * 100
            spread[f"{name}, {side}"] = {f"{20 * n}": float(share) for n, share in enumerate(shares)}
            rows.append(
                (f"{name}, {side}", f"{len(times):,}", f"{mean:,.1f}", f"{peak:,}", f"{peak / mean:,.1f}")
            )
    heads = ("", "rows", "rows per ms, mean", "rows of the busiest ms", "busiest over mean")
    shown = {"% of the rows, by 20 ms": spread}
    pictures = lines(effort, "intra-window-2021-figure-3", "ms", shown, ticks=10)
    return Made({"": Table(heads, rows)}, pictures, {"peaks": peaks})


def memory(effort: Effort) -> Made:
    """Figure 19b: memory on Rovio over time."""
    used, right, sent = _rovio(effort)
    rows = [(name, f"{one['peak'] / 2**20:,.1f}") for name, one in used.items()]
    over_time = {name: {f"{at:.2f}": size / 2**20 for at, size in one["line"]} for name, one in used.items()}
    shown = {"resident memory above the start, MiB": over_time}
    pictures = lines(effort, "intra-window-2021-figure-19b", "s", shown, ticks=10)
    tables = {f"memory, {sent}": Table(("", "at most, MiB"), rows)}
    return Made(tables, pictures, used, right, effort.scale)


PAPER_CPU = {
    "npj": 98.456, "prj": 24.606, "mway": 55.346, "mpass": 59.163,
    "shj_jm": 99.045, "shj_jb": 80.431, "pmj_jm": 97.287, "pmj_jb": 90.752,
}  # fmt: skip
"""For Table 6."""


def cpu_use(effort: Effort) -> Made:
    """The second line of Table 6: how much of the cores Rovio keeps busy."""
    used, right, sent = _rovio(effort)
    rows = [(name, f"{PAPER_CPU[name]:.0f} %", f"{100 * one['cpu']:.0f} %") for name, one in used.items()]
    heads = ("", "paper", f"here, {effort.threads} threads")
    return Made({f"CPU use, {sent}": Table(heads, rows)}, values=used, right=right, scale=effort.scale)


def of_the_papers(rows: int, workload: str) -> str:
    """For a caption: the rows of both sides, and which share of the paper's they are."""
    from bench.window_workloads import PUBLISHED

    return f"{rows:,} rows, {100 * rows / sum(PUBLISHED[workload][:2]):.3g} % of the paper's"


def _rovio(effort: Effort) -> tuple[dict[str, dict[str, Any]], bool, str]:
    import time

    from bench.window_studies import MemoryLine
    from bench.window_workloads import WORKLOADS
    from dovetail.intra_window.join import ALGORITHMS, match
    from dovetail.intra_window.metrics import measure

    window = WORKLOADS["rovio"](0.0005 if effort.quick else effort.scale / 5, effort.data, effort.seed)
    names = ("prj", "shj_jm") if effort.quick else ALGORITHMS
    values: dict[str, dict[str, Any]] = {}
    right = True
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
        values[name] = {"peak": line.peak, "cpu": share, "line": line.line}
    return values, right, of_the_papers(window.rows, "rovio")


def figure_20(effort: Effort) -> Made:
    """Throughput by threads: MPass for the lazy joins, SHJ-JM for the eager ones."""
    from bench.window_workloads import WORKLOADS
    from dovetail.intra_window.join import match
    from dovetail.intra_window.metrics import measure

    values: dict[str, dict[str, float]] = {}
    sent: dict[str, str] = {}
    right = True
    for workload in ("stock", "rovio", "ysb", "debs"):
        share = {"stock": 1.0, "rovio": effort.scale / 5}.get(workload, effort.scale)
        window = WORKLOADS[workload](0.001 if effort.quick else share, effort.data, effort.seed)
        sent[workload] = of_the_papers(window.rows, workload)
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
        (name, *(f"{value:.2f}" for value in cells.values()), f"{gains[name]:.2f}", sent[name.split(", ")[1]])
        for name, cells in values.items()
    ]
    threads = [f"{n} thread{'s' if n > 1 else ''}" for n in range(1, effort.threads + 1)]
    pictures = lines(effort, "intra-window-2021-figure-20", "threads", {RATE: values})
    tables = {RATE: Table(("", *threads, "gain", "sent"), rows)}
    return Made(tables, pictures, {"gains": gains, "threads": effort.threads}, right, effort.scale)


COUNTERS = "needs hardware counters, which a shared machine does not give"
OURS = "none: not of the paper"
EQUAL_SIDES = "as many rows on both sides; the paper has ten times as many in S"
FIFTH = "of Rovio a fifth of the share that `--scale` names"
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
            note="one socket of a Xeon there, at most eight threads; here whatever the command runs on",
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
            study("workloads", phases=True),
            WORKLOADS_FOUND,
            f"{TENTH}; the paper has the first four of the workloads",
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
            both_ways("duplicates", study("duplicates"), 0.1),
            DUPLICATES_FOUND,
            f"{TENTH}; at rest pairs both counted and looked at",
        ),
        Exhibit(
            "figure_12",
            "skew of arrival",
            "5.4",
            "measured",
            study("time_skew", least=1.0),
            TIME_SKEW_FOUND,
            "at the paper's rate, whatever `--scale` says",
        ),
        Exhibit(
            "figure_13",
            "skew of keys",
            "5.4",
            "measured",
            key_skew,
            KEY_SKEW_FOUND,
            "at rest, pairs both counted and looked at, where the paper's rows arrive; keys of both sides "
            "skewed, or of S alone",
        ),
        Exhibit("figure_14", "length of the window", "5.4", "measured", study("window"), WINDOW_FOUND, TENTH),
        Exhibit(
            "figure_15",
            "sorting step of PMJ",
            "5.5",
            "measured",
            sorting_step,
            SORTING_STEP_FOUND,
            EQUAL_SIDES,
        ),
        Exhibit(
            "figure_16",
            "group size of the biclique",
            "5.5",
            "measured",
            group_size,
            GROUP_FOUND,
            f"{EQUAL_SIDES}; with the router that records where each row went, and without",
        ),
        Exhibit(
            "figure_17",
            "rows by number or by value",
            "5.5",
            "measured",
            study("physical", phases=True),
            PHYSICAL_FOUND,
            EQUAL_SIDES,
        ),
        Exhibit(
            "figure_18",
            "radix bits of PRJ",
            "5.5",
            "measured",
            study("radix_bits"),
            RADIX_FOUND,
            f"{EQUAL_SIDES}; the paper has 8 to 18 bits, here there are 4 and 6, too",
        ),
        Exhibit("figure_19a", "where cycles go, top down", "5.6", "not shown", note=COUNTERS),
        Exhibit(
            "figure_19b",
            "memory on Rovio",
            "5.6",
            "measured",
            memory,
            MEMORY_FOUND,
            f"resident memory above that before the join; {FIFTH}",
        ),
        Exhibit("table_5", "counters per input row", "5.6", "not shown", note=COUNTERS),
        Exhibit(
            "table_6",
            "CPU use on Rovio",
            "5.6",
            "measured",
            cpu_use,
            CPU_FOUND,
            f"{FIFTH}; the memory bandwidth, its other line, {COUNTERS}",
        ),
        Exhibit(
            "figure_20",
            "throughput by cores",
            "5.6",
            "measured",
            figure_20,
            CORES_FOUND,
            f"up to `--threads`; {FIFTH}",
        ),
        Exhibit(
            "figure_21",
            "sorting joins with and without vector instructions",
            "5.6",
            "measured",
            figure_21,
            FIGURE_21_FOUND,
            "Micro at rest; off means no AVX, and no vectorizing compiler",
        ),
        Exhibit(
            "text_7", "a choice that adapts, beside the tree", "7", "measured", choice, note="proposed there"
        ),
        Exhibit("text_7_change", "a stream that changes halfway", "7", "measured", change, note="likewise"),
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
