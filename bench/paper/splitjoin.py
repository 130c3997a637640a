"""*SplitJoin* (USENIX ATC 2016): section 7. Its 32 cores are simulated; two real ones are measured."""

from __future__ import annotations

from bench.paper import speed
from bench.paper import splitjoin_findings as found
from bench.paper.exhibit import Effort, Exhibit, Made, Paper
from bench.paper.simulated import Beside, figure
from bench.paper.splitjoin_findings import RATE, VISITING
from bench.paper.splitjoin_measured import (
    adapted,
    dealt,
    designs,
    kind_of,
    measured,
    order_of,
    share_of,
    visiting,
)
from bench.tables import Table

OURS = "none: not of the paper"
GUESSED = "with a guessed cost of a"


def text_of_7_4(effort: Effort) -> Made:
    """Visiting latency at 28 cores: count windows of 2^21 beside 15 minutes of SplitJoin and of the chain,
    each at the same share of its own rate, and SplitJoin's two windows at the same rate."""
    from dovetail.simulate.figures import near_full
    from dovetail.simulate.paper_costs import CORES, PHYSICAL_CORES, SELECTIVITY, paper_costs
    from dovetail.simulate.run import sustained_rate
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
    count, timed, chain = setups
    held = {name: sustained_rate(setup, costs) for name, setup in setups.items()}
    rows, values = [], {}
    for load in (0.9,) if effort.quick else (0.9, 0.9875):
        at = {name: near_full(setup, costs, load)[0].visiting_ns / 1e6 for name, setup in setups.items()}
        same_rate = load * held[timed] / held[count]
        slower = near_full(setups[count], costs, same_rate)[0].visiting_ns / 1e6
        for label, counted in (
            (f"{load}", at[count]),
            (f"{load}; count windows at the rate of 15 min, {same_rate:.2f} of theirs", slower),
        ):
            values[label] = at[timed] / counted, at[chain] / counted
            shown = (f"{ms:.2f}" for ms in (counted, at[timed], at[chain]))
            rows.append((label, *shown, *(f"{ratio:.1f}" for ratio in values[label])))
    heads = ("share of the rate held", *setups, "time over count", "chain over count")
    return Made({"ms": Table(heads, rows)}, values=values)


def text_of_6_2(effort: Effort) -> Made:
    """Visiting latency with sub-windows of one size: the window grows with the cores."""
    from dovetail.simulate.costs import Costs
    from dovetail.simulate.run import modelled_rate, simulate
    from dovetail.simulate.setup import Setup, WindowSize

    costs, sub_window = Costs(), 1 << 12
    counts = (4, 16) if effort.quick else (4, 16, 64, 256)
    lines: dict[str, dict[int, float]] = {}
    for design in ("split", "low-latency"):
        for cores in counts:
            setup = Setup(design, cores, WindowSize(rows=cores * sub_window))  # type: ignore[arg-type]
            latency = simulate(setup, costs, 0.5 * modelled_rate(setup, costs)).latency
            lines.setdefault(design, {})[cores] = latency.visiting_ns / 1000
    rows = [(design, *(f"{value:,.1f}" for value in line.values())) for design, line in lines.items()]
    heads = ("join cores", *(f"{cores}" for cores in counts))
    return Made({"visiting latency, µs, sub-windows of 2^12 rows": Table(heads, rows)}, values=lines)


BESIDE_12 = (
    Beside("SJ 15 min, 28 cores, rows/s (7.4)", "4,400 (put in)", (RATE, "SJ 15 min", 28)),
    Beside("the same of LH: SJ is 60 % ahead (7.2)", "4,400 / 1.6 (put in)", (RATE, "LH 15 min", 28)),
)
BESIDE_13 = (
    Beside("SJ 15 min, 28 cores, ms (7.3)", "8.1", (VISITING, "SJ 15 min", 28)),
    Beside("LH 15 min, 28 cores, ms (7.3)", "26.8", (VISITING, "LH 15 min", 28)),
)
BESIDE_16 = (Beside("2^21, 28 cores, rows/s (7.4)", "5,200 (put in)", (RATE, "2^21", 28)),)

PAPER = Paper(
    "splitjoin",
    "splitjoin-2016.md",
    (
        Exhibit("figure_12", "throughput", "7.2", "simulated", figure("12", BESIDE_12), found.FIGURE_12),
        Exhibit(
            "figure_12_measured",
            "throughput of all designs, on real cores",
            "7.2",
            "measured",
            designs,
            found.MEASURED_12,
            "two cores instead of 28",
        ),
        Exhibit(
            "figure_13",
            "visiting latency",
            "7.3",
            "simulated",
            figure("13", BESIDE_13),
            found.FIGURE_13,
            "at 0.9875 of the rate held, which is an input",
        ),
        Exhibit(
            "figure_13_measured",
            "visiting latency of all designs, on real cores",
            "7.3",
            "measured",
            visiting,
            found.MEASURED_13,
            "two cores instead of 28; a steady rate over two windows",
        ),
        Exhibit(
            "text_7_3",
            "how the ratio of figure 13 depends on the load",
            "7.3",
            "simulated",
            figure("load"),
            note="the paper does not say at which rate its latencies were taken",
        ),
        Exhibit(
            "text_6_2",
            "visiting latency with sub-windows of one size",
            "6.1, 6.2",
            "simulated",
            text_of_6_2,
            found.TEXT_6_2,
            "with round costs, at half of the rate",
        ),
        Exhibit("figure_14", "the stages of the pipeline", "7.3", "not shown", note="a drawing"),
        Exhibit(
            "figure_15", "latency by stage, time windows", "7.3", "simulated", figure("15"), found.FIGURE_15
        ),
        Exhibit("figure_16", "count windows", "7.4", "simulated", figure("16", BESIDE_16), found.FIGURE_16),
        Exhibit(
            "text_7_4",
            "visiting latency of count windows, 2.5 and 8.3 times better",
            "7.4",
            "simulated",
            text_of_7_4,
            found.TEXT_7_4,
            "the ratio depends on the load, which the paper does not give",
        ),
        Exhibit(
            "text_7_4_measured",
            "count windows beside time windows, on real cores",
            "7.4",
            "measured",
            measured("windows", "text-7-4-measured", kind_of),
            found.MEASURED_7_4,
            "two cores instead of 28; times are given with the rows, so no clock is asked",
        ),
        Exhibit(
            "figure_17",
            "selectivity",
            "7.5",
            "simulated",
            figure("17"),
            found.FIGURE_17,
            f"{GUESSED} match",
        ),
        Exhibit(
            "figure_17_measured",
            "selectivity, on real cores",
            "7.5",
            "measured",
            measured("selectivity", "figure-17-measured", share_of),
            found.MEASURED_17,
            "two cores instead of 28",
        ),
        Exhibit(
            "figure_18", "latency by stage, count windows", "7.4", "simulated", figure("18"), found.FIGURE_18
        ),
        Exhibit(
            "figure_19",
            "ordering precision",
            "7.6",
            "simulated",
            figure("19"),
            found.FIGURE_19,
            f"{GUESSED} star",
        ),
        Exhibit(
            "figure_19_measured",
            "ordering precision, on real cores",
            "7.6",
            "measured",
            measured("order", "figure-19-measured", order_of),
            found.MEASURED_19,
            "two cores instead of 28; one merger, in the pusher's thread",
        ),
        Exhibit(
            "text_7_6_measured",
            "precision that follows the load, on real cores",
            "7.6",
            "measured",
            adapted,
            found.ADAPTED,
            "the paper proposes it and has no figure of it",
        ),
        Exhibit(
            "text_1_measured",
            "round robin over batches, on real cores",
            "1",
            "measured",
            dealt,
            found.TEXT_1,
            "the paper mentions it and has no figure of it",
        ),
        Exhibit("beyond_scale", "every design from 1 to 1,024 cores", OURS, "simulated", figure("scale")),
        Exhibit("speed_scan", "the band scan beside C", OURS, "measured", speed.scan),
        Exhibit(
            "speed_cores", "cores beside the bare scan, and two beside one", OURS, "measured", speed.cores
        ),
        Exhibit("speed_index", "the band index on one core", OURS, "measured", speed.index),
        Exhibit("speed_rows", "rows one at a time", OURS, "measured", speed.single_rows),
        Exhibit("speed_tasks", "SplitJoin on Spark: one task and two", OURS, "measured", speed.tasks),
        Exhibit("speed_simulator", "the simulator beside the measurement", OURS, "measured", speed.simulator),
    ),
)
