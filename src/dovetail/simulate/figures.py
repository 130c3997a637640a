"""The papers' figures, simulated: panels of series, numbers only. Drawing is the service's.

Rates held: SplitJoin's figures 12, 16, 17 and 19, handshake join's figure 16, and figure 8 of the earlier
version of its paper. Where a row's time goes: SplitJoin's figures 13, 15 and 18. Beyond the papers' machines:
`scale`, every design from 1 to 1,024 cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dovetail.errors import SettingError
from dovetail.simulate.costs import Costs
from dovetail.simulate.paper_costs import (
    CORES,
    PHYSICAL_CORES,
    SELECTIVITY,
    WIDE_SELECTIVITY,
    handshake_costs,
    paper_costs,
)
from dovetail.simulate.result import Latency
from dovetail.simulate.run import capacity, modelled_rate, modelled_visiting_ns, simulate, sustained_rate
from dovetail.simulate.setup import ArrivalPattern, Design, Ordering, Setup, WindowSize

JOIN_CORES = (4, 8, 12, 16, 20, 24, 28, 32)
"""Up to the paper's 32 physical cores: the last leaves none for other threads."""
HANDSHAKE_CORES, HANDSHAKE_PHYSICAL = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44), 48
EARLIER_CORES = (1, 2, 4, 8, 12, 16, 20, 24, 28)
"""The earlier version's machine has 32 cores; four are left for other threads, as elsewhere here."""
SCALE_CORES = tuple(1 << power for power in range(11))
SUB_WINDOWS = (1 << 12, 1 << 13, 1 << 14, 1 << 15)
NEAR_FULL = 0.9875
"""Put in by hand. The paper does not say at which rate its latencies were taken; if at the highest one held,
rows wait. With random arrivals at this share of it the ratio of low-latency handshake join to SplitJoin at 28
cores is about the paper's 3.3; it is larger at lower rates (`figure_of_loads`)."""
ROWS, INPUT_ROWS = 40_000, 8192
"""Long enough for the queues at such a load to settle; room enough that nothing is lost meanwhile."""
_RATE = "rows/s held, both streams"
_MS = 1e6


@dataclass(frozen=True)
class Series:
    name: str
    source: Literal["simulated", "modelled"]
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    panels: tuple[Panel, ...]

    def find(self, name: str, source: str = "simulated", panel: int = 0) -> Series:
        return next(one for one in self.panels[panel].series if (one.name, one.source) == (name, source))


def _both(
    name: str, x: Sequence[float], simulated: Sequence[float], modelled: Sequence[float]
) -> tuple[Series, Series]:
    at = tuple(float(value) for value in x)
    return Series(name, "simulated", at, tuple(simulated)), Series(name, "modelled", at, tuple(modelled))


# Rates held


def _rates(
    x: Sequence[float],
    setups: dict[str, Callable[[float], Setup]],
    costs: Costs,
    streams: float = 1.0,
) -> tuple[Series, ...]:
    """A line for each name; `streams` divides the rate where a paper gives that of one stream."""
    found: list[Series] = []
    for name, setup in setups.items():
        simulated = [sustained_rate(setup(at), costs) / streams for at in x]
        found += _both(name, x, simulated, [modelled_rate(setup(at), costs) / streams for at in x])
    return tuple(found)


def _by_cores(
    design: Design, window: WindowSize, physical: int = PHYSICAL_CORES, selectivity: float = SELECTIVITY
) -> Callable[[float], Setup]:
    return lambda at: Setup(design, int(at), window, selectivity, physical_cores=physical)


def figure_12(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """SplitJoin and low-latency handshake join, windows of 5, 10 and 15 minutes."""
    names: tuple[tuple[str, Design], ...] = (("SJ", "split"), ("LH", "low-latency"))
    setups = {
        f"{short} {minutes} min": _by_cores(design, WindowSize(seconds=60.0 * minutes))
        for short, design in names
        for minutes in (5, 10, 15)
    }
    panel = Panel("join cores", _RATE, _rates(cores, setups, costs))
    return Figure("splitjoin-2016-figure-12", "SplitJoin, figure 12: throughput", (panel,))


def figure_16(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """SplitJoin, windows by count."""
    setups = {f"2^{power}": _by_cores("split", WindowSize(rows=1 << power)) for power in range(17, 24)}
    panel = Panel("join cores", _RATE, _rates(cores, setups, costs), log_y=True)
    return Figure("splitjoin-2016-figure-16", "SplitJoin, figure 16: count windows", (panel,))


def figure_17(costs: Costs, cores: int = CORES, sub_windows: tuple[int, ...] = SUB_WINDOWS) -> Figure:
    """The share of pairs that match."""

    def setup(rows: int) -> Callable[[float], Setup]:
        return lambda at: Setup("split", cores, WindowSize(rows=cores * rows), selectivity=at)

    shares = tuple(10.0**-power for power in (6, 5, 4, 3, 2))
    setups = {f"{cores} x {WindowSize(rows=rows)}": setup(rows) for rows in sub_windows}
    panel = Panel("selectivity", _RATE, _rates(shares, setups, costs), log_x=True, log_y=True)
    return Figure("splitjoin-2016-figure-17", f"SplitJoin, figure 17: selectivity, {cores} cores", (panel,))


def figure_19(costs: Costs, cores: int = CORES, sub_windows: tuple[int, ...] = SUB_WINDOWS) -> Figure:
    """Comparisons between two stars, from one to a whole sub-window (relaxed inner ordering)."""

    def setup(rows: int) -> Callable[[float], Setup]:
        window = WindowSize(rows=cores * rows)
        return lambda at: Setup("split", cores, window, precision=Ordering("inner", int(at)))

    found: list[Series] = []
    for rows in sub_windows:
        intervals = tuple(float(1 << power) for power in range(rows.bit_length()))
        found += _rates(intervals, {f"{cores} x {WindowSize(rows=rows)}": setup(rows)}, costs)
    panel = Panel("comparisons per star", _RATE, tuple(found), log_x=True, log_y=True)
    return Figure(
        "splitjoin-2016-figure-19", f"SplitJoin, figure 19: ordering precision, {cores} cores", (panel,)
    )


def handshake_figure_16(costs: Costs, cores: tuple[int, ...] = HANDSHAKE_CORES) -> Figure:
    """Handshake join, windows of 10 and 15 minutes; rates are per stream, as in that paper."""
    setups = {
        f"{minutes} min": _by_cores("handshake", WindowSize(seconds=60.0 * minutes), HANDSHAKE_PHYSICAL)
        for minutes in (10, 15)
    }
    panel = Panel("cores", "rows/s held, each stream", _rates(cores, setups, costs, streams=2.0))
    return Figure("handshake-2011-figure-16", "Handshake join, figure 16: throughput", (panel,))


def handshake_figure_8(costs: Costs, cores: tuple[int, ...] = EARLIER_CORES) -> Figure:
    """The earlier version's: 5 and 10 minutes, the windows that its text names beside the figure."""
    setups = {
        f"{minutes} min": _by_cores("handshake", WindowSize(seconds=60.0 * minutes)) for minutes in (5, 10)
    }
    panel = Panel("cores", "rows/s held, each stream", _rates(cores, setups, costs, streams=2.0))
    title = "Handshake join, figure 8 of the earlier version: throughput"
    return Figure("handshake-2011-figure-8-earlier", title, (panel,))


# Where a row's time goes


def near_full(setup: Setup, costs: Costs, load: float = NEAR_FULL, seed: int = 1) -> tuple[Latency, float]:
    """Latency at `load` of the rate held, with random arrivals; and what the formula says of visiting."""
    rate = load * sustained_rate(setup, costs, seed=seed)
    busy = replace(setup, arrivals=ArrivalPattern("poisson"), input_rows=INPUT_ROWS)
    return simulate(busy, costs, rate, ROWS, seed).latency, modelled_visiting_ns(setup, costs, rate)


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
        setup = _by_cores(design, WindowSize(seconds=60.0 * minutes))
        points = [near_full(setup(count), costs) for count in cores]
        simulated = [latency.visiting_ns / _MS for latency, _ in points]
        found += _both(name, cores, simulated, [modelled / _MS for _, modelled in points])
    panel = Panel("join cores", "visiting latency, ms", tuple(found), log_y=True)
    return Figure("splitjoin-2016-figure-13", "SplitJoin, figure 13: visiting latency", (panel,))


def _stages(
    window: WindowSize, costs: Costs, cores: tuple[int, ...], selectivity: float = SELECTIVITY
) -> Panel:
    setup = _by_cores("split", window, selectivity=selectivity)
    points = [near_full(setup(count), costs) for count in cores]
    x = tuple(float(count) for count in cores)

    def line(name: str, value: Callable[[Latency], float]) -> Series:
        return Series(name, "simulated", x, tuple(value(latency) / _MS for latency, _ in points))

    found = (
        line("distribution", lambda latency: latency.distribution_ns),
        line("execution", lambda latency: latency.execution_ns),
        line("gathering", lambda latency: latency.gathering_ns),
        line("end to end", lambda latency: latency.end_to_end_ns),
        line("visiting", lambda latency: latency.visiting_ns),
        Series("visiting", "modelled", x, tuple(modelled / _MS for _, modelled in points)),
    )
    return Panel("join cores", f"ms, window {window}", found, log_y=True)


def figure_15(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """The stages of SplitJoin, windows by time."""
    panels = tuple(_stages(WindowSize(seconds=60.0 * minutes), costs, cores) for minutes in (5, 10, 15))
    return Figure("splitjoin-2016-figure-15", "SplitJoin, figure 15: latency by stage", panels)


def figure_18(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """The stages of SplitJoin, windows by count, values from 1 to 10^5."""
    panels = tuple(
        _stages(WindowSize(rows=1 << power), costs, cores, WIDE_SELECTIVITY) for power in (17, 19, 21)
    )
    return Figure("splitjoin-2016-figure-18", "SplitJoin, figure 18: latency by stage, count windows", panels)


def figure_of_loads(costs: Costs, cores: tuple[int, ...] = (4, 28)) -> Figure:
    """How the ratio of figure 13 depends on the load at which latency is taken: `NEAR_FULL` is an input."""
    loads = (0.5, 0.9, 0.95, 0.98, NEAR_FULL, 0.995)
    window = WindowSize(seconds=900.0)
    found: list[Series] = []
    for count in cores:
        chain = [near_full(Setup("low-latency", count, window), costs, load) for load in loads]
        split = [near_full(Setup("split", count, window), costs, load) for load in loads]
        pairs = list(zip(chain, split, strict=True))
        simulated = [one[0].visiting_ns / other[0].visiting_ns for one, other in pairs]
        found += _both(f"{count} cores", loads, simulated, [one[1] / other[1] for one, other in pairs])
    panel = Panel("share of the rate held", "visiting latency, LH over SJ", tuple(found), log_y=True)
    return Figure("simulated-load", "Visiting latency, 15 min, by load", (panel,))


def scale(costs: Costs, cores: tuple[int, ...] = SCALE_CORES) -> Figure:
    """Rates held and visiting latency at nine tenths of them, steady arrivals, window 2^20."""
    lines: dict[str, Design] = {
        "CellJoin": "cell",
        "handshake": "handshake",
        "low-latency": "low-latency",
        "SplitJoin": "split",
    }
    held: list[Series] = []
    visiting: list[Series] = []
    for name, design in lines.items():
        found = [capacity(Setup(design, count, WindowSize(rows=1 << 20)), costs) for count in cores]
        held += _both(
            name, cores, [one.held_rows_per_s for one in found], [one.modelled_rows_per_s for one in found]
        )
        visiting += _both(
            name,
            cores,
            [one.at_load.latency.visiting_ns / _MS for one in found],
            [one.modelled_visiting_ns / _MS for one in found],
        )
    panels = (
        Panel("cores", _RATE, tuple(held), log_x=True, log_y=True),
        Panel("cores", "visiting latency, ms", tuple(visiting), log_x=True, log_y=True),
    )
    return Figure("simulated-scale", "1 to 1,024 cores, window 2^20", panels)


FIGURES: dict[str, tuple[Callable[[Costs], Figure], Callable[[], Costs]]] = {
    "12": (figure_12, paper_costs),
    "13": (figure_13, paper_costs),
    "15": (figure_15, paper_costs),
    "16": (figure_16, paper_costs),
    "17": (figure_17, paper_costs),
    "18": (figure_18, paper_costs),
    "19": (figure_19, paper_costs),
    "handshake-8": (handshake_figure_8, handshake_costs),
    "handshake-16": (handshake_figure_16, handshake_costs),
    "load": (figure_of_loads, paper_costs),
    "scale": (scale, paper_costs),
}
"""By name, bare numbers being SplitJoin's: the function that makes a figure, and the costs of the machine in
that paper."""


def make_figure(name: str, costs: Costs | None) -> Figure:
    if name not in FIGURES:
        raise SettingError(
            f"there is no figure {name!r}", where="--figure", expected=", ".join((*FIGURES, "all"))
        )
    make, own = FIGURES[name]
    return make(costs or own())
