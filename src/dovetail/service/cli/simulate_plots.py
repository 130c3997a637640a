"""The simulator's figures as SVG: simulated lines with marks, modelled ones dashed beside them.

Only this file imports matplotlib, a development dependency; the command asks for it when a figure is drawn.
It is here and not in bench/ because `dovetail simulate` is part of the product, which never imports bench.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from dovetail.simulate.figures import Figure, Panel

mpl.rcParams.update({"svg.hashsalt": "dovetail", "svg.fonttype": "none", "font.family": "sans-serif"})
mpl.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3})


def draw(figure: Figure, folder: Path) -> Path:
    """Without a date, so that the same numbers give the same file."""
    path = folder / f"{figure.name}.svg"
    width = 6.0 if len(figure.panels) == 1 else 4.2 * len(figure.panels)
    drawing, axes = plt.subplots(1, len(figure.panels), figsize=(width, 3.4), squeeze=False)
    for panel, axis in zip(figure.panels, axes[0], strict=True):
        _panel(panel, axis)
    drawing.suptitle(figure.title, fontsize=10)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
    plt.close(drawing)
    return path


def _panel(panel: Panel, axis: Axes) -> None:
    colours: dict[str, str] = {}
    for one in panel.series:
        colour = colours.setdefault(one.name, f"C{len(colours)}")
        simulated = one.source == "simulated"
        axis.plot(
            one.x,
            one.y,
            color=colour,
            linestyle="-" if simulated else "--",
            marker="o" if simulated else None,
            markersize=3,
            linewidth=1.2 if simulated else 0.9,
            label=one.name if simulated else None,
        )
    axis.plot([], [], color="grey", linestyle="--", linewidth=0.9, label="modelled")
    axis.set(xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.log_x:
        axis.set_xscale("log", base=10 if max(panel.series[0].x) <= 1 else 2)
    if panel.log_y:
        axis.set_yscale("log")
    axis.legend(fontsize=7)
