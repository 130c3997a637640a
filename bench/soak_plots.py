"""The samples of `bench soak` over time: memory, files and handles, latency."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from bench.accuracy_plots import save
from bench.soak_report import LINES, Line, Soaked

PANELS = (
    ("memory (PSS), MiB", ("total_bytes", "jvm_bytes", "workers_bytes", "driver_bytes")),
    ("files, handles", ("files", "handles")),
    ("latency, s", ("p50_s", "p99_s")),
)


def draw(found: Soaked, path: Path) -> None:
    lines = {line.name: line for line in LINES}
    figure, axes = plt.subplots(len(PANELS), 1, figsize=(7, 7), sharex=True)
    for axis, (label, names) in zip(axes, PANELS, strict=True):
        for name in names:
            minutes, values = _points(found, lines[name])
            axis.plot(minutes, values, linewidth=1, label=lines[name].label)
        axis.axvspan(0, found.warm_up_s / 60, alpha=0.15, color="gray")
        axis.set(ylabel=label, ylim=(0, None))
        axis.legend(fontsize=7, loc="lower right")
    axes[-1].set_xlabel("minutes; gray: warm-up")
    save(figure, path)


def _points(found: Soaked, line: Line) -> tuple[list[float], list[float]]:
    known = [one for one in found.samples if line.name in one]
    return [one["s"] / 60 for one in known], [one[line.name] / line.scale for one in known]
