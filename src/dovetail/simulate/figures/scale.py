"""Beyond the papers' machines: every design from 1 to 1,024 cores."""

from __future__ import annotations

from dovetail.simulate.answer import answer
from dovetail.simulate.costs import Costs
from dovetail.simulate.figures.figure import Figure, Panel, Series
from dovetail.simulate.setup import Design, Setup
from dovetail.simulate.window import Window

CORES = tuple(1 << power for power in range(11))
LINES: tuple[tuple[str, Design], ...] = (
    ("CellJoin", "cell"),
    ("handshake", "handshake"),
    ("low-latency", "low-latency"),
    ("SplitJoin", "split"),
)


def scale(costs: Costs, cores: tuple[int, ...] = CORES) -> Figure:
    """Rates held and visiting latency at nine tenths of them, steady arrivals, window 2^20."""
    held: list[Series] = []
    visiting: list[Series] = []
    x = tuple(float(count) for count in cores)
    for name, design in LINES:
        found = [answer(Setup(design, count, Window(rows=1 << 20)), costs) for count in cores]
        held.append(Series(name, "simulated", x, tuple(one.held_rows_per_s for one in found)))
        held.append(Series(name, "modelled", x, tuple(one.modelled_rows_per_s for one in found)))
        visiting.append(
            Series(name, "simulated", x, tuple(one.at_load.latency.visiting_ns / 1e6 for one in found))
        )
        visiting.append(Series(name, "modelled", x, tuple(one.modelled_visiting_ns / 1e6 for one in found)))
    panels = (
        Panel("cores", "rows/s held, both streams", tuple(held), log_x=True, log_y=True),
        Panel("cores", "visiting latency, ms", tuple(visiting), log_x=True, log_y=True),
    )
    return Figure("simulated-scale", "1 to 1,024 cores, window 2^20", panels)
