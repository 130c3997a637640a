"""Every figure by the name it is asked for. Bare numbers are SplitJoin's."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.errors import SettingError
from dovetail.simulate.costs import Costs
from dovetail.simulate.figures.figure import Figure
from dovetail.simulate.figures.latency import figure_13, figure_15, figure_18, figure_of_loads
from dovetail.simulate.figures.scale import scale
from dovetail.simulate.figures.throughput import (
    figure_12,
    figure_16,
    figure_17,
    figure_19,
    handshake_figure_16,
)
from dovetail.simulate.paper_costs import handshake_costs, paper_costs

FIGURES: dict[str, tuple[Callable[[Costs], Figure], Callable[[], Costs]]] = {
    "12": (figure_12, paper_costs),
    "13": (figure_13, paper_costs),
    "15": (figure_15, paper_costs),
    "16": (figure_16, paper_costs),
    "17": (figure_17, paper_costs),
    "18": (figure_18, paper_costs),
    "19": (figure_19, paper_costs),
    "handshake-16": (handshake_figure_16, handshake_costs),
    "load": (figure_of_loads, paper_costs),
    "scale": (scale, paper_costs),
}
"""What makes it, and the costs of the machine that the paper's figure is of."""


def make_figure(name: str, costs: Costs | None) -> Figure:
    if name not in FIGURES:
        raise SettingError(
            f"there is no figure {name!r}", where="--figure", expected=", ".join((*FIGURES, "all"))
        )
    make, own = FIGURES[name]
    return make(costs or own())
