"""Where a row's time goes: SplitJoin's figures 13, 15 and 18."""

from __future__ import annotations

from dataclasses import fields, replace

from dovetail.simulate.arrivals import Arrivals
from dovetail.simulate.costs import Costs
from dovetail.simulate.figures.figure import Figure, Panel, Series
from dovetail.simulate.figures.throughput import JOIN_CORES
from dovetail.simulate.modelled import visiting_ns
from dovetail.simulate.outcome import Latency
from dovetail.simulate.paper_costs import PHYSICAL_CORES
from dovetail.simulate.run import simulate, sustained_rate
from dovetail.simulate.setup import Design, Setup
from dovetail.simulate.window import Window

NEAR_FULL = 0.9875
"""Put in by hand. The paper does not say at which rate its latencies were taken; if at the highest one held,
rows wait. With random arrivals at this share of it the ratio of low-latency handshake join to SplitJoin at 28
cores is about the paper's 3.3; it is larger at lower rates (`figure_of_loads`)."""
ROWS, INPUT_ROWS = 40_000, 8192
"""Long enough for the queues at such a load to settle; room enough that nothing is lost meanwhile."""
STAGES = {
    "distribution": "distribution_ns",
    "execution": "execution_ns",
    "gathering": "gathering_ns",
    "end to end": "end_to_end_ns",
    "visiting": "visiting_ns",
}
_PAIR: tuple[Design, Design] = ("low-latency", "split")
_MS = 1e6


def near_full(setup: Setup, costs: Costs, load: float = NEAR_FULL, seed: int = 1) -> tuple[Latency, float]:
    """Latency at `load` of the rate held, with random arrivals; and what the formula says of visiting."""
    rate = load * sustained_rate(setup, costs, seed=seed)
    busy = replace(setup, arrivals=Arrivals("poisson"), input_rows=INPUT_ROWS)
    return simulate(busy, costs, rate, ROWS, seed).latency, visiting_ns(setup, costs, rate)


def figure_13(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """Visiting latency of SplitJoin in three windows and of low-latency handshake join in one."""
    lines: tuple[tuple[str, Design, int], ...] = (
        ("SJ 5 min", "split", 5),
        ("SJ 10 min", "split", 10),
        ("SJ 15 min", "split", 15),
        ("LH 15 min", "low-latency", 15),
    )
    found: list[Series] = []
    for name, design, minutes in lines:
        window = Window(seconds=60.0 * minutes)
        points = [
            near_full(Setup(design, count, window, physical_cores=PHYSICAL_CORES), costs) for count in cores
        ]
        x = tuple(float(count) for count in cores)
        found.append(Series(name, "simulated", x, tuple(lat.visiting_ns / _MS for lat, _ in points)))
        found.append(Series(name, "modelled", x, tuple(modelled / _MS for _, modelled in points)))
    panel = Panel("join cores", "visiting latency, ms", tuple(found), log_y=True)
    return Figure("splitjoin-2016-figure-13", "SplitJoin, figure 13: visiting latency", (panel,))


def _stages(window: Window, costs: Costs, cores: tuple[int, ...]) -> Panel:
    points = [
        near_full(Setup("split", count, window, physical_cores=PHYSICAL_CORES), costs) for count in cores
    ]
    x = tuple(float(count) for count in cores)
    found = [
        Series(name, "simulated", x, tuple(getattr(lat, field) / _MS for lat, _ in points))
        for name, field in STAGES.items()
    ]
    found.append(Series("visiting", "modelled", x, tuple(modelled / _MS for _, modelled in points)))
    return Panel("join cores", f"ms, window {window}", tuple(found), log_y=True)


def figure_15(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """The stages of SplitJoin, windows by time."""
    panels = tuple(_stages(Window(seconds=60.0 * minutes), costs, cores) for minutes in (5, 10, 15))
    return Figure("splitjoin-2016-figure-15", "SplitJoin, figure 15: latency by stage", panels)


def figure_18(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """The same, windows by count."""
    panels = tuple(_stages(Window(rows=1 << power), costs, cores) for power in (17, 19, 21))
    return Figure("splitjoin-2016-figure-18", "SplitJoin, figure 18: latency by stage, count windows", panels)


def figure_of_loads(costs: Costs, cores: tuple[int, ...] = (4, 28)) -> Figure:
    """How the ratio of figure 13 depends on the load at which latency is taken: `NEAR_FULL` is an input."""
    loads = (0.5, 0.9, 0.95, 0.98, NEAR_FULL, 0.995)
    window = Window(seconds=900.0)
    found: list[Series] = []
    for count in cores:
        chain, split = (
            [near_full(Setup(design, count, window), costs, load) for load in loads] for design in _PAIR
        )
        pairs = list(zip(chain, split, strict=True))
        simulated = tuple(one[0].visiting_ns / other[0].visiting_ns for one, other in pairs)
        found.append(Series(f"{count} cores", "simulated", loads, simulated))
        found.append(
            Series(f"{count} cores", "modelled", loads, tuple(one[1] / other[1] for one, other in pairs))
        )
    panel = Panel("share of the rate held", "visiting latency, LH over SJ", tuple(found), log_y=True)
    return Figure("simulated-load", "Visiting latency, 15 min, by load", (panel,))


assert set(STAGES.values()) <= {field.name for field in fields(Latency)}
