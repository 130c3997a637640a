"""*SplitJoin* (USENIX ATC 2016): section 7. Its 32 cores are simulated; two real ones are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.paper import speed
from bench.paper.exhibit import Effort, Exhibit, Finding, Made, Paper
from bench.paper.simulated import figure
from bench.tables import Table

RATE, VISITING = "rows/s held, both streams", "visiting latency, ms"
PUT_IN = "put in, so no finding: it sets a cost of the simulator"
OURS = "none: not of the paper"
Values = Mapping[Any, Any]


def measured(part: str, label: Callable[[dict[str, Any]], str]) -> Callable[[Effort], Made]:
    """A part of `bench sliding`: SplitJoin on real cores."""

    def make(effort: Effort) -> Made:
        import os

        from bench.sliding_parts import Asked, equal_pairs
        from bench.sliding_parts import part as run

        cores = [min(2, os.cpu_count() or 1)]
        seconds, window = (0.05, 1 << 10) if effort.quick else (effort.seconds, 1 << 14)
        asked = Asked([window], cores, ["split"], 1 << 16, seconds, 1, None)
        right = equal_pairs(asked)["same"]
        found = run(part, asked)
        rows = [
            (
                label(one),
                f"{one['taken_rows_per_s']:,.0f}",
                f"{one['held_rows_per_s']:,.0f}",
                f"{one['pairs']:,}",
            )
            for one in found
        ]
        heads = ("", "rows/s at full speed", "held", "results of the last run")
        values = {label(one): one["taken_rows_per_s"] for one in found}
        caption = f"{cores[0]} cores, windows of 2^{window.bit_length() - 1}"
        return Made({caption: Table(heads, rows)}, values=values, right=bool(right))

    return make


def _all_designs(effort: Effort) -> Any:
    import os

    from bench.sliding_parts import Asked

    cores = sorted({1, min(2, os.cpu_count() or 1)})
    windows, seconds = ([1 << 8], 0.02) if effort.quick else ([1 << 14, 1 << 16, 1 << 18], effort.seconds)
    return Asked(windows, cores, None, 1 << 16, seconds, 1, None)


def designs(effort: Effort) -> Made:
    """Every design on real cores with the same scan: four rows that wait in one pass, and one row a pass."""
    from bench.sliding_parts import equal_pairs
    from bench.sliding_parts import part as run

    asked = _all_designs(effort)
    right = equal_pairs(asked)["same"]
    found = run("designs", asked)
    rows = [
        (
            one["design"],
            f"{one['cores']}",
            f"2^{one['window'].bit_length() - 1}",
            f"{one['taken_rows_per_s']:,.0f}",
            f"{one['held_rows_per_s']:,.0f}",
            f"{one['taken_alone_rows_per_s']:,.0f}",
        )
        for one in found
    ]
    heads = ("design", "cores", "window", "rows/s, four rows a pass", "held", "rows/s, one row a pass")
    values = {
        (one["design"], one["cores"], one["window"]): (
            one["taken_rows_per_s"],
            one["taken_alone_rows_per_s"],
        )
        for one in found
    }
    return Made({"": Table(heads, rows)}, values=values, right=bool(right))


def visiting(effort: Effort) -> Made:
    """Visiting latency on real cores, at a steady rate over two windows."""
    from bench.sliding_parts import VISITING_ROWS_PER_S
    from bench.sliding_parts import part as run

    found = run("visiting", _all_designs(effort))
    rows = [
        (
            one["design"],
            f"{one['cores']}",
            *(f"{one[stage]:,.0f}" for stage in ("distribution", "execution", "visiting", "visiting_mean")),
            f"{one['walk']:,.0f}" if one["walk"] else "",
        )
        for one in found
        if "visiting" in one
    ]
    heads = (
        "design",
        "cores",
        "distribution",
        "execution",
        "visiting",
        "visiting, mean",
        "handshake's formula (mean)",
    )
    caption = (
        f"median microseconds, {VISITING_ROWS_PER_S:,} rows/s, "
        f"windows of 2^{found[0]['window'].bit_length() - 1}"
    )
    values = {(one["design"], one["cores"]): one for one in found}
    return Made({caption: Table(heads, rows)}, values=values)


def _order(one: dict[str, Any]) -> str:
    return {"none": "no order", "outer": f"outer, every {one['every']}"}.get(
        one["order"], f"inner, groups of {one['group']}"
    )


def _share(one: dict[str, Any]) -> str:
    """A band of 21 values in each of two dimensions."""
    return f"1 in {round((one['domain'] / 21) ** 2):,}"


def _kind(one: dict[str, Any]) -> str:
    return "by time" if one["by_time"] else "by count"


def text_of_7_4(effort: Effort) -> Made:
    """Visiting latency at 28 cores: count windows of 2^21 beside 15 minutes of SplitJoin and of the chain."""
    from dovetail.simulate.figures import near_full
    from dovetail.simulate.paper_costs import CORES, PHYSICAL_CORES, SELECTIVITY, paper_costs
    from dovetail.simulate.setup import Setup, WindowSize

    costs = paper_costs()
    quarter = WindowSize(seconds=900.0)
    setups = {
        "SplitJoin, 2^21 rows": Setup(
            "split", CORES, WindowSize(rows=1 << 21), SELECTIVITY, physical_cores=PHYSICAL_CORES
        ),
        "SplitJoin, 15 min": Setup("split", CORES, quarter, SELECTIVITY, physical_cores=PHYSICAL_CORES),
        "low-latency handshake join, 15 min": Setup(
            "low-latency", CORES, quarter, SELECTIVITY, physical_cores=PHYSICAL_CORES
        ),
    }
    loads = (0.9,) if effort.quick else (0.9, 0.9875)
    found = {
        (load, name): near_full(setup, costs, load)[0].visiting_ns / 1e6
        for load in loads
        for name, setup in setups.items()
    }
    count = "SplitJoin, 2^21 rows"
    rows = [
        (
            f"{load}",
            *(f"{found[load, name]:.2f}" for name in setups),
            *(f"{found[load, name] / found[load, count]:.1f}" for name in list(setups)[1:]),
        )
        for load in loads
    ]
    heads = ("share of the rate held", *setups, "time over count", "chain over count")
    values = {
        load: (
            found[load, "SplitJoin, 15 min"] / found[load, count],
            found[load, "low-latency handshake join, 15 min"] / found[load, count],
        )
        for load in loads
    }
    return Made({"ms": Table(heads, rows)}, values=values)


def _ratio(v: Values, label: str, one: str, other: str, at: float) -> float:
    return float(v[label, one][at] / v[label, other][at])


FIGURE_12 = (
    Finding(
        "7.2",
        "SplitJoin is ahead of low-latency handshake join by up to 60 % (15 minutes)",
        f"1.6 times at 28 cores ({PUT_IN})",
        lambda v: 1.5 <= _ratio(v, RATE, "SJ 15 min", "LH 15 min", 28) <= 1.7,
    ),
    Finding(
        "7.2",
        "both drop at 32 join cores of 32",
        "less than at 28, both",
        lambda v: all(v[RATE, f"{n} 15 min"][32] < v[RATE, f"{n} 15 min"][28] for n in ("SJ", "LH")),
    ),
    Finding(
        "7.2",
        "both scale gracefully with the cores",
        "more at each step from 4 to 28, both",
        lambda v: all(
            line[a] < line[b]
            for line in (v[RATE, "SJ 15 min"], v[RATE, "LH 15 min"])
            for a, b in zip(sorted(line)[:-2], sorted(line)[1:-1], strict=True)
        ),
    ),
)
FIGURE_13 = (
    Finding(
        "7.3",
        "with four cores the two are quite similar",
        "within a quarter of each other",
        lambda v: 0.8 <= _ratio(v, VISITING, "LH 15 min", "SJ 15 min", 4) <= 1.25,
    ),
    Finding(
        "7.3",
        "with 28 cores 8.1 ms against 26.8 ms, 3.3 times",
        "2.5 to 4 times (by the choice of the load)",
        lambda v: 2.5 <= _ratio(v, VISITING, "LH 15 min", "SJ 15 min", 28) <= 4,
    ),
    Finding(
        "7.3",
        "latency rises towards 32 cores, more so in the chain",
        "more at 32 than at 28, in both",
        lambda v: all(v[VISITING, f"{n} 15 min"][32] > v[VISITING, f"{n} 15 min"][28] for n in ("SJ", "LH")),
    ),
)
FIGURE_15 = (
    Finding(
        "7.3",
        "more cores reduce waiting in distribution, and execution in proportion",
        "both at 28 cores below those at 4",
        lambda v: all(
            v["ms, window 15min", stage][28] < v["ms, window 15min", stage][4]
            for stage in ("distribution", "execution")
        ),
    ),
    Finding(
        "7.3",
        "of the three stages, gathering has the highest latency",
        "the largest at 28 cores",
        lambda v: (
            v["ms, window 15min", "gathering"][28]
            > max(v["ms, window 15min", stage][28] for stage in ("distribution", "execution"))
        ),
    ),
)
FIGURE_16 = (
    Finding(
        "7.4",
        "twice the window means less throughput, at any number of cores",
        "each line is below that of half the window",
        lambda v: all(
            v[RATE, f"2^{p + 1}"][at] < v[RATE, f"2^{p}"][at] for p in range(17, 23) for at in v[RATE, "2^17"]
        ),
    ),
    Finding(
        "7.4",
        "32 join cores cost small windows more",
        "what 32 cores hold of what 28 hold: less at 2^17 than at 2^21",
        lambda v: v[RATE, "2^17"][32] / v[RATE, "2^17"][28] < v[RATE, "2^21"][32] / v[RATE, "2^21"][28],
    ),
    Finding(
        "7.4",
        "28 cores process 5,200 rows/s at 2^21",
        f"5,000 to 5,400 ({PUT_IN})",
        lambda v: 5000 <= v[RATE, "2^21"][28] <= 5400,
    ),
)
FIGURE_17 = (
    Finding(
        "7.5",
        "it is robust to changes of selectivity, even for windows of 28 x 2^15 rows",
        "from one match in a million pairs to one in ten thousand it loses less than a tenth",
        lambda v: all(line[1e-4] >= 0.9 * line[1e-6] for line in v.values()),
    ),
)
FIGURE_19 = (
    Finding(
        "7.6",
        "from 2^15 to 2^11 comparisons per star (sub-windows of 2^15) the effect is negligible",
        "at 2^11 within a twentieth of that at 2^15",
        lambda v: v[RATE, "28 x 2^15"][2048.0] >= 0.95 * v[RATE, "28 x 2^15"][32768.0],
    ),
    Finding(
        "7.6",
        "from 2^10 down to 2^1 it costs throughput",
        "at 2 less than half of that at 2^10",
        lambda v: v[RATE, "28 x 2^15"][2.0] < 0.5 * v[RATE, "28 x 2^15"][1024.0],
    ),
)
TEXT_7_4 = (
    Finding(
        "7.4",
        "visiting latency of count windows is 2.5 times better than that of time windows",
        "more than twice, at some load",
        lambda v: max(time for time, _ in v.values()) > 2,
    ),
    Finding(
        "7.4",
        "and 8.3 times better than that of low-latency handshake join",
        "more than 7 times, at some load",
        lambda v: max(chain for _, chain in v.values()) > 7,
    ),
)
MEASURED_12 = (
    Finding(
        "7.2",
        "SplitJoin is ahead of low-latency handshake join",
        "on two cores and 2^18 rows, with four rows a pass and with one",
        lambda v: all(
            split > chain
            for split, chain in zip(
                v["split", 2, 1 << 18], v["low_latency_handshake", 2, 1 << 18], strict=True
            )
        ),
    ),
)
MEASURED_13 = (
    Finding(
        "7.3",
        "SplitJoin's visiting latency is below that of low-latency handshake join",
        "on two cores",
        lambda v: v["split", 2]["visiting"] < v["low_latency_handshake", 2]["visiting"],
    ),
    Finding(
        "6.1",
        "in handshake join a row waits until later rows have pushed it on",
        "on two cores the mean is half to twice what the formula says of the window",
        lambda v: 0.5 <= v["handshake", 2]["visiting_mean"] / v["handshake", 2]["walk"] <= 2,
    ),
)
MEASURED_7_4 = (
    Finding(
        "7.4",
        "roughly 20 % better performance with count windows instead of time windows",
        "by count at least a tenth more rows per second than by time, with as many rows in both",
        lambda v: v["by count"] >= 1.1 * v["by time"],
    ),
)
MEASURED_17 = (
    Finding(
        "7.5",
        "it is robust to changes of selectivity",
        "one match in 10,000 pairs costs less than a fifth",
        lambda v: v["1 in 9,070"] >= 0.8 * v["1 in 22,675,737"],
    ),
)
MEASURED_19 = (
    Finding(
        "7.6",
        "strict outer order, one star per row, costs little",
        "within a fifth of no order",
        lambda v: v["outer, every 1"] >= 0.8 * v["no order"],
    ),
    Finding(
        "7.6",
        "strict inner order costs most of the throughput",
        "a star per comparison: less than a fifth",
        lambda v: v["inner, groups of 1"] <= 0.2 * v["no order"],
    ),
)

PAPER = Paper(
    "splitjoin",
    "splitjoin-2016.md",
    (
        Exhibit("figure_12", "throughput", "7.2", "simulated", figure("12"), FIGURE_12),
        Exhibit(
            "figure_12_measured",
            "throughput of all designs, on real cores",
            "7.2",
            "measured",
            designs,
            MEASURED_12,
            "two cores instead of 28",
        ),
        Exhibit(
            "figure_13",
            "visiting latency",
            "7.3",
            "simulated",
            figure("13"),
            FIGURE_13,
            "at 0.9875 of the rate held, which is an input",
        ),
        Exhibit(
            "figure_13_measured",
            "visiting latency of all designs, on real cores",
            "7.3",
            "measured",
            visiting,
            MEASURED_13,
            "two cores instead of 28; a steady rate over two windows",
        ),
        Exhibit("figure_14", "the stages of the pipeline", "7.3", "not shown", note="a drawing"),
        Exhibit("figure_15", "latency by stage, time windows", "7.3", "simulated", figure("15"), FIGURE_15),
        Exhibit("figure_16", "count windows", "7.4", "simulated", figure("16"), FIGURE_16),
        Exhibit(
            "text_7_4",
            "visiting latency of count windows, 2.5 and 8.3 times better",
            "7.4",
            "simulated",
            text_of_7_4,
            TEXT_7_4,
            "the ratio depends on the load, which the paper does not give",
        ),
        Exhibit(
            "text_7_4_measured",
            "count windows beside time windows, on real cores",
            "7.4",
            "measured",
            measured("windows", _kind),
            MEASURED_7_4,
            "two cores instead of 28; times are given with the rows, so no clock is asked",
        ),
        Exhibit("figure_17", "selectivity", "7.5", "simulated", figure("17"), FIGURE_17),
        Exhibit(
            "figure_17_measured",
            "selectivity, on real cores",
            "7.5",
            "measured",
            measured("selectivity", _share),
            MEASURED_17,
            "two cores instead of 28",
        ),
        Exhibit("figure_18", "latency by stage, count windows", "7.4", "simulated", figure("18")),
        Exhibit("figure_19", "ordering precision", "7.6", "simulated", figure("19"), FIGURE_19),
        Exhibit(
            "figure_19_measured",
            "ordering precision, on real cores",
            "7.6",
            "measured",
            measured("order", _order),
            MEASURED_19,
            "two cores instead of 28; one merger, in the pusher's thread",
        ),
        Exhibit("speed_scan", "the band scan beside C", OURS, "measured", speed.scan),
        Exhibit(
            "speed_cores", "cores beside the bare scan, and two beside one", OURS, "measured", speed.cores
        ),
        Exhibit("speed_index", "the band index on one core", OURS, "measured", speed.index),
        Exhibit("speed_rows", "rows one at a time", OURS, "measured", speed.single_rows),
        Exhibit("speed_simulator", "the simulator beside the measurement", OURS, "measured", speed.simulator),
    ),
)
