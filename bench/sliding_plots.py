"""Plots of `dovetail bench sliding`: rates against windows, as the papers' figures 12 and 16 have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt


def draw(found: dict[str, Any], folder: Path) -> None:
    if found.get("designs"):
        _rates(found["designs"], folder / "sliding-rates.svg")


def _rates(designs: list[dict[str, Any]], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.2))
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for one in designs:
        lines.setdefault((one["design"], one["cores"]), []).append((one["window"], one["taken_rows_per_s"]))
    for (design, cores), points in lines.items():
        label = f"{design.replace('_', ' ')}, {cores} {'core' if cores == 1 else 'cores'}"
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("rows of a window")
    axes.set_ylabel("rows per second")
    axes.legend(fontsize=8)
    axes.grid(visible=True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
