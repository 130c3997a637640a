"""The experiments as plots: one SVG for each of the paper's figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "dovetail", "svg.fonttype": "none", "font.family": "sans-serif"})
mpl.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3})

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from bench.accuracy_figures import BATCH, REALTIME, Accuracy, Estimated, Lagging, Report, WindowSize  # noqa: E402


def draw(report: Report, folder: Path) -> None:
    if report.figure_8:
        save(_accuracy(report.figure_8), folder / "facebook-2018-figure-8.svg")
    if report.figures_9_and_10:
        save(_windows(report.figures_9_and_10, report.row_bytes), folder / "facebook-2018-figures-9-10.svg")
    if report.figure_12:
        save(_estimates(report.figure_12), folder / "facebook-2018-figure-12.svg")
    if report.lagging:
        save(_lagging(report.lagging), folder / "facebook-2018-pacing.svg")


def _accuracy(found: Accuracy) -> Figure:
    figure, axis = plt.subplots(figsize=(6, 3))
    days = range(1, len(found.days) + 1)
    for name in (*BATCH, REALTIME):
        axis.plot(
            days,
            [100 * day[name] for day in found.days],
            marker="o",
            linestyle="-" if name == REALTIME else "--",
            label=name,
        )
    axis.set(xlabel="day", ylabel="left rows with a partner, %")
    axis.legend(fontsize=8)
    return figure


def _windows(sizes: list[WindowSize], row_bytes: float | None) -> Figure:
    figure, (memory, success) = plt.subplots(1, 2, figsize=(9, 3))
    for one in sizes:
        shown = [rows / 1000 if row_bytes is None else rows * row_bytes / 2**20 for rows in one.line["rows"]]
        memory.plot(one.line["hour"], shown, label=f"ws-{one.hours:g}h")
    for one in (sizes[0], sizes[-1]):
        success.plot(
            one.line["hour"], [100 * share for share in one.line["success"]], label=f"ws-{one.hours:g}h"
        )
    label = "right rows held, thousands" if row_bytes is None else "index of the right rows held, MiB"
    memory.set(xlabel="hour", ylabel=label)
    success.set(xlabel="hour", ylabel="left rows with a partner, %")
    memory.legend(fontsize=7)
    success.legend(fontsize=8)
    return figure


def _estimates(streams: list[Estimated]) -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(11, 3))
    for one in streams:
        hour = one.line["hour"]
        axes[0].semilogy(hour, one.line["delay_s"], label=f"stream {one.stream}")
        axes[1].plot(hour, one.line["window"])
        axes[2].plot(hour, [100 * share for share in one.line["accuracy"]])
    axes[0].set(xlabel="hours since noon", ylabel="delay of the stream's time, s")
    axes[1].set(xlabel="hours since noon", ylabel="window, micro-batches")
    axes[2].set(xlabel="hours since noon", ylabel="rows on time, %", ylim=(90, 100.5))
    axes[0].legend(fontsize=8)
    return figure


def _lagging(runs: list[Lagging]) -> Figure:
    figure, axis = plt.subplots(figsize=(4, 2.5))
    axis.bar([f"pacing {one.pacing}" for one in runs], [one.peak_rows / 1000 for one in runs], width=0.5)
    axis.axhline(runs[0].window_rows / 1000, linestyle="--", color="black", label="window + slack")
    axis.set(ylabel="rows held at most, thousands")
    axis.legend(fontsize=8)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Without a date, so that the same figures give the same file."""
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
