"""Latency over time: one panel for each kind of traffic, the median and the largest of each second."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from bench.accuracy_plots import save
from bench.latency_report import Report

COLOURS = {"dovetail": "tab:blue", "pql": "tab:green", "spark": "tab:orange"}


def draw(report: Report, path: Path) -> None:
    labels = list(dict.fromkeys(label for label, _, _ in report.lines()))
    figure, panels = plt.subplots(
        len(labels), 1, figsize=(7, 1 + 1.9 * len(labels)), sharex=True, squeeze=False
    )
    for axis, label in zip(panels[:, 0], labels, strict=True):
        for found, outcome, took in report.lines():
            if found == label:
                seconds, middle, largest = zip(*took["line"], strict=True)
                colour = COLOURS[outcome["system"]]
                axis.plot(seconds, middle, color=colour, label=f"{outcome['system']}, median")
                axis.plot(
                    seconds, largest, color=colour, linestyle=":", label=f"{outcome['system']}, largest"
                )
        axis.set(title=label, ylabel="latency, s", ylim=(0, None))
        axis.legend(fontsize=7)
    panels[-1, 0].set_xlabel("seconds after the warm-up")
    save(figure, path)
