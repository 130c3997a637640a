"""What the window benchmark found: as tables, one line per algorithm and one column per point of the study's
axis, and as plots named after the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.window_adaptive import NEAR, Changing, Settled
from bench.window_studies import Run, Study
from dovetail.intra_window.metrics import PHASES

SURE = 0.75
"""Being behind in this share of the rounds is no accident."""

PREFIX = "intra-window-2021"
MARKS = {"npj": "o-", "prj": "s-", "mway": "^-", "mpass": "v-"}


def show(found: dict[Study, list[Run]]) -> None:
    console = Console(highlight=False, width=160)
    for study, runs in found.items():
        for threads in sorted({run.threads for run in runs}):
            for title, table in _tables(study, [run for run in runs if run.threads == threads], threads):
                console.print(f"\n{title}", soft_wrap=True)
                console.print(table)
    wrong = [run for runs in found.values() for run in runs if not run.right]
    if wrong:
        console.print(f"{len(wrong)} runs found other matches than there are.", style="red")


def show_settled(found: Sequence[Settled]) -> None:
    console = Console(highlight=False, width=160)
    console.print("\nchoices: how much worse than the best of the eight, by medians", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    columns = ("best", "ms", "spread", "tree", "loss", "behind", "settled", "loss", "behind", "run")
    for name in ("workload", "metric", *columns):
        table.add_column(
            name, justify="left" if name in ("workload", "metric", "best", "tree", "settled") else "right"
        )
    for one in found:
        table.add_row(
            one.workload, one.wish, one.best, f"{one.best_ms:,.1f}", f"{one.spread:.0%}", one.tree,
            f"{one.tree_loss:.0%}", f"{one.tree_behind:.0%}", one.settled, f"{one.settled_loss:.0%}",
            f"{one.settled_behind:.0%}", f"{one.run_loss:.0%}",
        )  # fmt: skip
    console.print(table)
    for name, losses in (
        ("tree", [one.tree_loss for one in found]),
        ("settled", [one.settled_loss for one in found]),
        ("run", [one.run_loss for one in found]),
    ):
        near = sum(loss <= NEAR for loss in losses)
        console.print(f"{name}: within a tenth in {near} of {len(losses)}, {fmean(losses):.0%} on average")
    for name, shares in (
        ("tree", [one.tree_behind for one in found]),
        ("settled", [one.settled_behind for one in found]),
    ):
        sure = sum(share >= SURE for share in shares)
        console.print(f"{name}: more than a tenth behind in three rounds of four: {sure} of {len(shares)}")
    if not all(one.right for one in found):
        console.print("Some runs found other matches than there are.", style="red")


def show_changing(found: Changing) -> None:
    console = Console(highlight=False, width=160)
    console.print(
        "\na stream that changes halfway: seconds of the whole run, median and range", soft_wrap=True
    )
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("", "seconds", "from", "to"):
        table.add_column(name, justify="right" if name else "left")
    for name, seconds in sorted(found.seconds.items(), key=lambda item: median(item[1])):
        table.add_row(name, *(f"{value:.2f}" for value in (median(seconds), min(seconds), max(seconds))))
    console.print(table)
    console.print(
        f"the choice that learns took {found.chosen[0]} before the change, {found.chosen[1]} at the end"
        f"; calibrating took {found.calibrating_s:.1f} s, once"
    )
    if not found.same:
        console.print("Some runs found other pairs.", style="red")


def _tables(study: Study, runs: Sequence[Run], threads: int) -> list[tuple[str, Table]]:
    title = f"{study.figure}: {study.sentence}; {threads} thread{'s' if threads > 1 else ''}"
    figures: dict[str, Callable[[Run], str]] = {
        "million input rows/s": lambda run: f"{run.rows_per_s / 1e6:.2f}"
    }
    if study.name in ("speed", "key_skew"):
        figures["million rows per CPU second"] = lambda run: f"{(run.rows_per_cpu_s or 0) / 1e6:.2f}"
    if study.moving:
        figures["95th percentile of latency, ms"] = lambda run: _ms(run.p95_latency_ms)
        figures["ms until half of the matches"] = lambda run: _ms(run.half_ms)
    if study.name in ("workloads", "physical", "radix_bits", "sorting_step"):
        figures[f"ns per row: {', '.join(PHASES)}"] = lambda run: " ".join(
            f"{run.phases_ns_per_row[name]:.0f}" for name in PHASES
        )
    if study.name == "workloads":
        figures["memory at most, MiB"] = lambda run: f"{run.peak_bytes / 2**20:.0f}"
    return [_grid(f"{title}; {name}", runs, cell) for name, cell in figures.items()]


def _ms(value: float | None) -> str:
    return "—" if value is None else f"{value:,.1f}"


def _grid(title: str, runs: Sequence[Run], cell: Callable[[Run], str]) -> tuple[str, Table]:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    points = list(dict.fromkeys(run.point for run in runs))
    table.add_column("")
    for point in points:
        table.add_column(point, justify="right")
    for algorithm in dict.fromkeys(run.algorithm for run in runs):
        by_point = {run.point: cell(run) for run in runs if run.algorithm == algorithm}
        table.add_row(algorithm, *(by_point.get(point, "") for point in points))
    return title, table


def draw(study: Study, runs: Sequence[Run], folder: Path) -> Path:
    """A plot named after the paper's figure, with the most threads that were measured."""
    from bench.accuracy_plots import save

    most = max(run.threads for run in runs)
    runs = [run for run in runs if run.threads == most]
    figure = _workloads(runs) if study.name == "workloads" else _lines(study, runs, most)
    figure.tight_layout()
    path = folder / f"{PREFIX}-{study.figure}.svg"
    save(figure, path)
    return path


def _lines(study: Study, runs: Sequence[Run], threads: int) -> Any:
    import matplotlib.pyplot as plt

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
    figure.suptitle(f"{study.sentence}, {threads} threads", fontsize=9)
    return figure


def _workloads(runs: Sequence[Run]) -> Any:
    """One row per workload: throughput (figure 5), progress (6), time by phase (7)."""
    import matplotlib.pyplot as plt

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
        phases.set(ylabel="ns per row")
        for axis in (speed, phases):
            axis.tick_params(axis="x", labelsize=6, rotation=30)
    axes[0][1].legend(fontsize=6)
    axes[0][2].legend(fontsize=6)
    return figure
