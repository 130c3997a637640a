"""Rates held: SplitJoin's figures 12, 16, 17 and 19, and handshake join's figure 16."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.simulate.costs import Costs
from dovetail.simulate.figures.figure import Figure, Panel, Series, series
from dovetail.simulate.paper_costs import CORES, PHYSICAL_CORES, SELECTIVITY
from dovetail.simulate.precision import Precision
from dovetail.simulate.run import modelled_rate, sustained_rate
from dovetail.simulate.setup import Design, Setup
from dovetail.simulate.window import Window

JOIN_CORES = (4, 8, 12, 16, 20, 24, 28, 32)
"""Up to the paper's 32 physical cores: the last leaves none for other threads."""
HANDSHAKE_CORES, HANDSHAKE_PHYSICAL = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44), 48
SUB_WINDOWS = (1 << 12, 1 << 13, 1 << 14, 1 << 15)


def _both(
    name: str, x: tuple[float, ...], setup: Callable[[float], Setup], costs: Costs, streams: float = 1.0
) -> tuple[Series, Series]:
    """Simulated and modelled; `streams` divides the rate where a paper gives that of one stream."""
    return (
        series(name, "simulated", x, lambda at: sustained_rate(setup(at), costs) / streams),
        series(name, "modelled", x, lambda at: modelled_rate(setup(at), costs) / streams),
    )


def figure_12(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """SplitJoin and low-latency handshake join, windows of 5, 10 and 15 minutes."""
    found: list[Series] = []
    names: tuple[tuple[str, Design], ...] = (("SJ", "split"), ("LH", "low-latency"))
    for short, design in names:
        for minutes in (5, 10, 15):
            window = Window(seconds=60.0 * minutes)
            found += _both(
                f"{short} {minutes} min",
                cores,
                lambda at, d=design, w=window: Setup(d, int(at), w, physical_cores=PHYSICAL_CORES),  # type: ignore[misc]
                costs,
            )
    panel = Panel("join cores", "rows/s held, both streams", tuple(found))
    return Figure("splitjoin-2016-figure-12", "SplitJoin, figure 12: throughput", (panel,))


def figure_16(costs: Costs, cores: tuple[int, ...] = JOIN_CORES) -> Figure:
    """SplitJoin, windows by count."""
    found: list[Series] = []
    for power in (17, 18, 19, 20, 21, 22, 23):
        window = Window(rows=1 << power)
        found += _both(
            f"2^{power}",
            cores,
            lambda at, w=window: Setup("split", int(at), w, physical_cores=PHYSICAL_CORES),  # type: ignore[misc]
            costs,
        )
    panel = Panel("join cores", "rows/s held, both streams", tuple(found), log_y=True)
    return Figure("splitjoin-2016-figure-16", "SplitJoin, figure 16: count windows", (panel,))


def figure_17(costs: Costs, cores: int = CORES) -> Figure:
    """The share of pairs that match."""
    shares = tuple(10.0**-power for power in (6, 5, 4, 3, 2))
    found: list[Series] = []
    for rows in SUB_WINDOWS:
        window = Window(rows=cores * rows)
        found += _both(
            f"{cores} x {Window(rows=rows)}",
            shares,
            lambda at, w=window: Setup("split", cores, w, selectivity=at),  # type: ignore[misc]
            costs,
        )
    panel = Panel("selectivity", "rows/s held, both streams", tuple(found), log_x=True, log_y=True)
    return Figure("splitjoin-2016-figure-17", f"SplitJoin, figure 17: selectivity, {cores} cores", (panel,))


def figure_19(costs: Costs, cores: int = CORES) -> Figure:
    """Comparisons between two stars, from one to a whole sub-window (relaxed inner ordering)."""
    found: list[Series] = []
    for rows in SUB_WINDOWS:
        intervals = tuple(float(1 << power) for power in range(rows.bit_length()))
        window = Window(rows=cores * rows)
        found += _both(
            f"{cores} x {Window(rows=rows)}",
            intervals,
            lambda at, w=window: Setup("split", cores, w, precision=Precision("inner", int(at))),  # type: ignore[misc]
            costs,
        )
    panel = Panel("comparisons a star", "rows/s held, both streams", tuple(found), log_x=True, log_y=True)
    return Figure(
        "splitjoin-2016-figure-19", f"SplitJoin, figure 19: ordering precision, {cores} cores", (panel,)
    )


def handshake_figure_16(costs: Costs, cores: tuple[int, ...] = HANDSHAKE_CORES) -> Figure:
    """Handshake join, windows of 10 and 15 minutes; rates are per stream, as in that paper."""
    found: list[Series] = []
    for minutes in (10, 15):
        window = Window(seconds=60.0 * minutes)
        found += _both(
            f"{minutes} min",
            cores,
            lambda at, w=window: Setup(  # type: ignore[misc]
                "handshake", int(at), w, SELECTIVITY, physical_cores=HANDSHAKE_PHYSICAL
            ),
            costs,
            streams=2.0,
        )
    panel = Panel("cores", "rows/s held, each stream", tuple(found))
    return Figure("handshake-2011-figure-16", "Handshake join, figure 16: throughput", (panel,))
