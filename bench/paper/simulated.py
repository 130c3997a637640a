"""Figures of the simulator as exhibits: a table of each panel, and the drawing of `dovetail simulate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.paper.exhibit import Effort, Made
from bench.tables import Table

QUICK_CORES = (4, 28)


@dataclass(frozen=True)
class Beside:
    """A number of the paper's text, and which of ours is meant: panel, line and place on the axis."""

    what: str
    paper: str
    ours: tuple[str, str, float]


def figure(name: str, beside: Sequence[Beside] = ()) -> Callable[[Effort], Made]:
    def make(effort: Effort) -> Made:
        from dovetail.simulate.figures import FIGURES

        maker, costs = FIGURES[name]
        less: dict[str, Any] = {}
        if effort.quick:
            less = {"sub_windows": (1 << 8,)} if name in ("17", "19") else {"cores": QUICK_CORES}
        found = maker(costs(), **less)
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
        rows = [
            (one.what, one.paper, _number(values[one.ours[0], one.ours[1]][one.ours[2]]))
            for one in beside
            if one.ours[2] in values[one.ours[0], one.ours[1]]
        ]
        if rows:
            tables["beside the paper's text"] = Table(("", "paper", "here"), rows)
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
