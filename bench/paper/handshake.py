"""*How Soccer Players Would do Stream Joins* (SIGMOD 2011) and its earlier version: sections 5 and 6, A.5."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

import numpy as np

from bench.paper.exhibit import Effort, Exhibit, Finding, Made, Paper
from bench.paper.plots import bars, lines
from bench.paper.simd import HANDSHAKE_15_FOUND, handshake_15
from bench.paper.simulated import Beside, figure
from bench.paper.splitjoin_measured import cuts
from bench.tables import Table

RATE = "rows/s held, each stream"
NO_CHIP = "needs a chip"


def circuit_rate(cores: int, rows: int, stream_rows: int = 4_000) -> float:
    """Rows per clock that the emulated circuit takes, with windows of `rows` on both sides."""
    import dovetail

    values = np.random.default_rng(1).integers(0, 1_000_000, stream_rows).astype(np.int32)
    done = dovetail.lock_step_join(
        "left.x == right.x",
        left={"x": values[0::2]},
        right={"x": values[1::2]},
        chip=dovetail.Chip(cores, rows, rows),
    )
    return done.rows_per_cycle


def circuit_scale(effort: Effort) -> Made:
    """Segments of eight rows: what a core has to do in a clock does not depend on how many there are."""
    counts = (10, 20) if effort.quick else (10, 20, 50, 100, 150, 200)
    rates = {count: circuit_rate(count, 8 * count) for count in counts}
    rows = [(f"{count}", f"{8 * count:,}", f"{rate:.4f}", f"{1 / rate:.1f}") for count, rate in rates.items()]
    heads = ("cores", "window, rows", "rows per clock, both streams", "clocks per row")
    shown = {"rows per clock, both streams": {"": {f"{count}": rate for count, rate in rates.items()}}}
    pictures = lines(effort, "handshake-2011-figure-18", "cores", shown)
    return Made({"": Table(heads, rows)}, pictures, {"rates": rates})


def circuit_power(effort: Effort) -> Made:
    """Windows of 100 rows and 500 thousand rows per second, of both streams together or of each: the clock
    that each number of cores needs."""
    paper = {1: 50, 2: 25, 5: 10, 10: 5}
    rates = {cores: circuit_rate(cores, 100, 1_000 if effort.quick else 4_000) for cores in paper}
    clocks = {cores: 0.5 / rate for cores, rate in rates.items()}
    rows = [
        (f"{cores}", f"{paper[cores]}", f"{clocks[cores]:.1f}", f"{2 * clocks[cores]:.1f}") for cores in paper
    ]
    heads = ("cores", "paper", "emulated, 500 thousand of both streams", "emulated, 500 thousand of each")
    return Made({"MHz": Table(heads, rows)}, values={"clocks": clocks, "paper": paper})


def circuit_throughput(effort: Effort) -> Made:
    """Windows of 1,000 rows over 1 to 200 cores, at the same clock."""
    counts = (1, 10) if effort.quick else (1, 10, 50, 100, 150, 200)
    rates = {count: circuit_rate(count, 1000, 2_000) for count in counts}
    rows = [
        (f"{count}", f"{-(-1000 // count)}", f"{rate:.4f}", f"{rate * -(-1000 // count):.3f}")
        for count, rate in rates.items()
    ]
    heads = ("cores", "rows of a segment", "rows per clock, both streams", "times the segment")
    shown = {"rows per clock, both streams": {"": {f"{count}": rate for count, rate in rates.items()}}}
    pictures = lines(effort, "handshake-2011-figure-13-earlier", "cores", shown)
    return Made({"": Table(heads, rows)}, pictures, {"rates": rates})


def numa(effort: Effort) -> Made:
    """48 cores in 8 regions, as the paper's machine has them. Windows of 15 minutes as in figure 16, and
    short ones, where messages weigh. What a message to another region costs is varied: no paper gives it."""
    from dataclasses import replace

    from dovetail.simulate.paper_costs import handshake_costs
    from dovetail.simulate.run import capacity
    from dovetail.simulate.setup import Setup, WindowSize

    cores, regions = (8, 4) if effort.quick else (48, 8)
    windows = (WindowSize(seconds=900.0), WindowSize(rows=1 << 17))
    rows, values = [], {}
    for window in windows[1:] if effort.quick else windows:
        for design in ("handshake", "low-latency", "split"):
            for placement in ("neighbours", "scattered"):
                cells = []
                for remote_us in REMOTE_US:
                    setup = Setup(design, cores, window, regions=regions, placement=placement)  # type: ignore[arg-type]
                    costs = replace(handshake_costs(), remote_ns=1000.0 * remote_us)
                    found = capacity(setup, costs, load=0.5)
                    visiting = found.at_load.latency.visiting_ns
                    values[f"{window}", design, placement, remote_us] = found.held_rows_per_s, visiting
                    cells += [f"{found.held_rows_per_s:,.0f}", _time(visiting)]
                rows.append((f"{design}, {window}, {placement}", *cells))
    heads = [f"{name}, {us} µs" for us in REMOTE_US for name in ("rows/s held", "visiting")]
    caption = f"{cores} cores in {regions} regions, by what a message to another region costs in addition"
    return Made({caption: Table(("", *heads), rows)}, values=values)


REMOTE_US = (0, 1, 10)
MERGE = "merge of blocks of 128"
BESIDE_16 = (Beside("15 min, 8 cores, rows/s of each stream (5.4)", "1,400 (put in)", (RATE, "15 min", 8)),)


def _time(ns: float) -> str:
    return f"{ns / 1e9:,.0f} s" if ns >= 1e10 else f"{ns / 1e6:,.2f} ms"


def merge_blocks(effort: Effort) -> Made:
    """The earlier version's figure 9: cores that merge sorted blocks of 128 rows, beside those that scan, by
    turns."""
    import os
    import time

    from bench.sliding_work import BAND, R, S, arrivals
    from dovetail.model.sliding import Window
    from dovetail.sliding.engine import SlidingJoin

    window, rows, turns = (1 << 10, 4_000, 1) if effort.quick else (1 << 14, 100_000, 5)
    cores = min(2, os.cpu_count() or 1)
    speeds: dict[str, list[float]] = {"scan": [], MERGE: []}
    pairs: dict[str, set[int]] = {name: set() for name in speeds}
    for _ in range(turns):
        for name, block_rows in (("scan", 1), (MERGE, 128)):
            with SlidingJoin(
                BAND,
                left=R,
                right=S,
                window=Window(rows=window),
                design="handshake",
                cores=cores,
                block_rows=block_rows,
            ) as join:
                for batch in arrivals(1, 2 * window, 256):
                    join.push(**batch)
                join.flush()
                ready = list(arrivals(2, rows, 256, first_time=2 * window))
                began = time.perf_counter()
                for batch in ready:
                    join.push(**batch)
                join.flush()
                speeds[name].append(rows / (time.perf_counter() - began))
                join.settle()
                pairs[name].add(len(join.pairs()))
    rates = {name: median(found) for name, found in speeds.items()}
    gains = [merged / scanned for scanned, merged in zip(*speeds.values(), strict=True)]
    shown = [(name, f"{rate:,.0f}", f"{max(pairs[name]):,}") for name, rate in rates.items()]
    shown.append(("merge over scan, median of the turns", f"{median(gains):.2f}", ""))
    caption = f"{cores} cores, windows of 2^{window.bit_length() - 1} rows, medians of the turns: {turns}"
    beside = [
        ("merge join, blocks of 128 (5)", "4,000 a stream, 16 cores, 10 minutes", f"{rates[MERGE]:,.0f}"),
        ("scan", "a plot only", f"{rates['scan']:,.0f}"),
    ]
    made = set().union(*pairs.values())
    right = len(made) == 1 and 0 not in made
    tables = {
        caption: Table(("", "rows/s", "pairs"), shown),
        "beside the paper's text, rows/s": Table(("", "paper", "here, both streams"), beside, figures=False),
    }
    pictures = bars(effort, "handshake-2011-figure-9-earlier", {"rows/s": {"": rates}})
    return Made(tables, pictures, {"gain": median(gains)}, right)


TEXT_2_2 = (
    Finding(
        "2.2",
        "a coordinator has to re-partition the data every k rows, which is expensive",
        "more rows per second when 256 rows are dealt out together than when each is dealt out alone",
        lambda v: v["256 a batch, 1024 a basic window"] > v["1 a batch, 1024 a basic window"],
    ),
)


def follows_root(line: Mapping[float, float]) -> bool:
    """The rate grows with the root of the cores, as a quadratic workload allows at best."""
    least, most = min(line), max(line)
    return 0.9 <= line[most] / line[least] / (most / least) ** 0.5 <= 1.1


FIGURE_16 = (
    Finding(
        "5.4",
        "it scales with core counts and input rates",
        "more at each step from 4 to 44 cores, both windows",
        lambda v: all(
            line[a] < line[b]
            for line in (v[RATE, "10 min"], v[RATE, "15 min"])
            for a, b in pairwise(sorted(line))
        ),
    ),
    Finding(
        "5.4",
        "alternatively, additional cores support larger windows while maintaining throughput",
        "15 minutes on half as many cores again hold what 10 minutes hold: 12 and 8, 24 and 16, 36 and 24, "
        "within a twentieth (follows from the workload)",
        lambda v: all(
            abs(v[RATE, "15 min"][3 * n] / v[RATE, "10 min"][2 * n] - 1) <= 0.05 for n in (4, 8, 12)
        ),
    ),
    Finding(
        "5.4",
        "eight cores sustain 1,400 rows/s at 15 minutes",
        "1,300 to 1,500 (put in, so no finding: it sets the cost of a comparison)",
        lambda v: 1300 <= v[RATE, "15 min"][8] <= 1500,
    ),
)
FIGURE_8 = (
    Finding(
        "5 (earlier version)",
        "throughput grows at best with the root of the cores, which is very closely followed",
        "from the fewest cores to the most within a tenth of the root, both windows (follows from the "
        "workload)",
        lambda v: all(follows_root(v[RATE, window]) for window in ("5 min", "10 min")),
    ),
)
REMOTE = "put in: a message costs more where it crosses a border, and a scattered chain crosses more"
TEXT_5_1 = (
    Finding(
        "5.1",
        "the data flow can be laid out over the cores such that only short-distance communication is needed",
        "a chain along the regions loses less to messages between them than one scattered over them: with "
        f"10 µs each, in both windows ({REMOTE})",
        lambda v: all(
            v[window, "handshake", "neighbours", 10][0] > v[window, "handshake", "scattered", 10][0]
            for window in ("15min", "2^17")
        ),
    ),
    Finding(
        "SplitJoin, 1",
        "chains rely on an optimal assignment of join cores to reduce the NUMA effect",
        "in low-latency handshake join scattered cores hold less than neighbours "
        f"(windows of 2^17; {REMOTE})",
        lambda v: (
            v["2^17", "low-latency", "scattered", 10][0] < v["2^17", "low-latency", "neighbours", 10][0]
        ),
    ),
    Finding(
        "SplitJoin, 1",
        "the top-down flow eliminates the need for communication between the join cores",
        "SplitJoin holds the same with scattered cores as with neighbours, within a hundredth (windows of "
        "2^17; put in, and kind to it: its tree crosses regions in either placement, so what it loses to "
        "messages it loses in both)",
        lambda v: (
            abs(v["2^17", "split", "scattered", 10][0] / v["2^17", "split", "neighbours", 10][0] - 1) <= 0.01
        ),
    ),
)
FIGURE_18 = (
    Finding(
        "6.4",
        "the clock remains largely unaffected by the number of cores",
        f"the clock {NO_CHIP}; that a core does as much in a clock, however many there are, is put in",
        lambda v: None,
    ),
)
TABLE_1 = (
    Finding(
        "6.5",
        "1, 2, 5 and 10 cores give the same throughput at 50, 25, 10 and 5 MHz",
        "the clocks that the circuit needs for as many rows of both streams together: within a tenth of "
        "these (put in: a core makes a comparison in a clock)",
        lambda v: all(abs(v["clocks"][cores] / mhz - 1) <= 0.1 for cores, mhz in v["paper"].items()),
    ),
    Finding(
        "6.5",
        "the same, counted per input stream, as A.5 of the earlier version counts in figure 13",
        "the clocks that the circuit needs for as many rows of each stream: within a tenth of these (put in: "
        "one stream shifts in a clock)",
        lambda v: all(abs(2 * v["clocks"][cores] / mhz - 1) <= 0.1 for cores, mhz in v["paper"].items()),
    ),
)
FIGURE_13 = (
    Finding(
        "A.5 (earlier version)",
        "throughput is the clock over the longest segment",
        "rows of both streams together per clock, times the segment, are within a hundredth of 1 for each "
        "number of cores (put in: a core makes a comparison in a clock)",
        lambda v: all(abs(rate * -(-1000 // cores) - 1) <= 0.01 for cores, rate in v["rates"].items()),
    ),
    Finding(
        "A.5 (earlier version)",
        "figure 13 has this throughput per input stream",
        "rows of each stream per clock, times the segment, are within a hundredth of 1 for each number of "
        "cores (put in: one stream shifts in a clock, so each gets half)",
        lambda v: all(abs(rate / 2 * -(-1000 // cores) - 1) <= 0.01 for cores, rate in v["rates"].items()),
    ),
)
EARLIER_9 = (
    Finding(
        "5 (earlier version)",
        "merge join over sorted blocks promises higher throughput than the scan",
        "more rows per second than the scan, as the median of the turns' ratios",
        lambda v: v["gain"] > 1,
    ),
)

PAPER = Paper(
    "handshake",
    "handshake-2011.md",
    (
        Exhibit(
            "text_2_2_measured",
            "CellJoin's batch and basic window, on real cores",
            "2.2, 3.6",
            "measured",
            cuts,
            TEXT_2_2,
            "the paper describes both and has no figure of them",
        ),
        Exhibit(
            "figure_14",
            "the machine's regions, and the chain along them",
            "5.1",
            "not shown",
            note="a drawing; the layout is simulated below",
        ),
        Exhibit(
            "figure_15",
            "SIMD",
            "5.3",
            "measured",
            handshake_15,
            HANDSHAKE_15_FOUND,
            "one core, count windows instead of 15 minutes",
        ),
        Exhibit(
            "figure_16",
            "scalability",
            "5.4",
            "simulated",
            figure("handshake-16", BESIDE_16),
            FIGURE_16,
        ),
        Exhibit(
            "text_5_1",
            "cores in NUMA regions",
            "5.1",
            "simulated",
            numa,
            TEXT_5_1,
            "what a message between regions costs is an input",
        ),
        Exhibit("figure_17", "the circuit", "6.2", "not shown", note="a drawing"),
        Exhibit(
            "figure_18",
            "clock of the circuit by cores",
            "6.4",
            "simulated",
            circuit_scale,
            FIGURE_18,
            f"rows per clock, which are put in; the clock itself {NO_CHIP}",
        ),
        Exhibit(
            "table_1",
            "clock for 500 thousand rows per second, by cores",
            "6.5",
            "simulated",
            circuit_power,
            TABLE_1,
            f"power and area: {NO_CHIP}; section 6.5 does not say whether it counts one stream or both",
        ),
        Exhibit("table_2", "power weighted by area", "6.5", "not shown", note=NO_CHIP),
        Exhibit(
            "figure_8_earlier",
            "scalability",
            "5",
            "simulated",
            figure("handshake-8"),
            FIGURE_8,
            "with the cost of a comparison of figure 16; the text has rates and does not say whose",
        ),
        Exhibit(
            "figure_9_earlier",
            "merge join over blocks",
            "5",
            "measured",
            merge_blocks,
            EARLIER_9,
            "two cores instead of 16",
        ),
        Exhibit(
            "figure_10_earlier",
            "clock of the circuit by cores",
            "6.1",
            "not shown",
            note="as figure 18: the same circuit, eight rows a core",
        ),
        Exhibit("figure_11_earlier", "the circuit", "A.2", "not shown", note="a drawing"),
        Exhibit("figure_12_earlier", "a core of the circuit", "A.3", "not shown", note="a drawing"),
        Exhibit(
            "figure_13_earlier",
            "throughput by cores",
            "A.5",
            "simulated",
            circuit_throughput,
            FIGURE_13,
            f"at one clock; how the clock falls {NO_CHIP}",
        ),
    ),
)
