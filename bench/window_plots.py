"""Plots named after the paper's figures: one file a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from bench.accuracy_plots import save
from bench.window_runs import Run
from bench.window_studies import Study
from dovetail.intra_window.metrics import PHASES

PREFIX = "intra-window-2021"
MARKS = {"npj": "o-", "prj": "s-", "mway": "^-", "mpass": "v-"}


def draw(study: Study, runs: Sequence[Run], folder: Path) -> Path:
    """With the most threads that were measured."""
    most = max(run.threads for run in runs)
    runs = [run for run in runs if run.threads == most]
    if study.name == "workloads":
        return _workloads(study, runs, folder)
    panels = [("million input rows/s", lambda run: run.rows_per_s / 1e6)]
    if study.moving:
        panels += [
            ("95 % latency, ms", lambda run: run.p95_latency_ms),
            ("ms to half", lambda run: run.half_ms),
        ]
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.2), squeeze=False)
    for axis, (label, value) in zip(axes[0], panels, strict=True):
        for algorithm in dict.fromkeys(run.algorithm for run in runs):
            own = [run for run in runs if run.algorithm == algorithm]
            axis.plot(
                [run.point for run in own],
                [value(run) for run in own],
                MARKS.get(algorithm, "x--"),
                label=algorithm,
            )
        axis.set(xlabel=study.axis, ylabel=label, ylim=(0, None))
        axis.tick_params(axis="x", labelsize=7, rotation=20 if study.name == "speed" else 0)
    axes[0][0].legend(fontsize=6)
    figure.suptitle(f"{study.sentence}, {most} threads", fontsize=9)
    figure.tight_layout()
    path = folder / f"{PREFIX}-{study.figure}.svg"
    save(figure, path)
    return path


def _workloads(study: Study, runs: Sequence[Run], folder: Path) -> Path:
    """A row a workload: throughput (figure 5), progress (6), time by phase (7)."""
    points = list(dict.fromkeys(run.point for run in runs))
    figure, axes = plt.subplots(len(points), 3, figsize=(12, 2.6 * len(points)), squeeze=False)
    for (speed, progress, phases), point in zip(axes, points, strict=True):
        own = [run for run in runs if run.point == point]
        names = [run.algorithm for run in own]
        speed.bar(names, [run.rows_per_s / 1e6 for run in own])
        speed.set(ylabel=f"{point}: million rows/s")
        for run in own:
            progress.step(
                [when / 1000 for when, _ in run.progress],
                [share * 100 for _, share in run.progress],
                where="post", label=run.algorithm, linestyle="-" if run.algorithm in MARKS else "--",
            )  # fmt: skip
        progress.set(xlabel="ms", ylabel="% of matches", ylim=(0, 105))
        floor = [0.0] * len(own)
        for phase in PHASES:
            more = [run.phases_ns_per_row[phase] for run in own]
            phases.bar(names, more, bottom=floor, label=phase)
            floor = [a + b for a, b in zip(floor, more, strict=True)]
        phases.set(ylabel="ns a row")
        for axis in (speed, phases):
            axis.tick_params(axis="x", labelsize=6, rotation=30)
    axes[0][1].legend(fontsize=6)
    axes[0][2].legend(fontsize=6)
    figure.tight_layout()
    path = folder / f"{PREFIX}-{study.figure}.svg"
    save(figure, path)
    return path
