"""Figures of the simulator as exhibits: a table of each panel, and the drawing of `dovetail simulate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.paper.exhibit import Effort, Made
from bench.tables import Table

QUICK_CORES = (4, 28)


def figure(name: str) -> Callable[[Effort], Made]:
    def make(effort: Effort) -> Made:
        from dovetail.simulate.figures import FIGURES

        maker, costs = FIGURES[name]
        by_cores = name not in ("17", "19", "load")
        if effort.quick and name == "19":
            return Made()  # its points are all of one kind, and each takes seconds
        found = maker(costs(), QUICK_CORES) if effort.quick and by_cores else maker(costs())  # type: ignore[call-arg]
        pictures = ()
        if effort.out is not None:
            from dovetail.service.cli.simulate_plots import draw

            pictures = (draw(found, effort.out).name,)
        tables = {panel.y_label: _table(panel) for panel in found.panels}
        values = {
            (panel.y_label, series.name): dict(zip(series.x, series.y, strict=True))
            for panel in found.panels
            for series in panel.series
            if series.source == "simulated"
        }
        return Made(tables, pictures, values)

    return make


def _table(panel: Any) -> Table:
    shown = [series for series in panel.series if series.source == "simulated"]
    points = sorted({x for series in shown for x in series.x})
    rows = []
    for series in shown:
        at = dict(zip(series.x, series.y, strict=True))
        rows.append((series.name, *(_number(at[x]) if x in at else "" for x in points)))
    return Table((panel.x_label, *(f"{x:g}" for x in points)), rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
