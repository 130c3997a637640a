"""What the window benchmark found, as tables: a line an algorithm, a column a point of the study's axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

from rich.console import Console
from rich.table import Table

from bench.window_adaptive import NEAR, Changing, Settled
from bench.window_runs import Run
from bench.window_studies import Study
from dovetail.intra_window.metrics import PHASES

SURE = 0.75
"""Of the rounds: so often behind is no chance."""


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
    tables = [_grid(f"{title}; million input rows/s", runs, lambda run: f"{run.rows_per_s / 1e6:.2f}")]
    if study.name in ("speed", "key_skew"):
        tables.append(
            _grid(
                f"{title}; million rows a CPU second",
                runs,
                lambda run: f"{(run.rows_per_cpu_s or 0) / 1e6:.2f}",
            )
        )
    if study.moving:
        tables.append(
            _grid(f"{title}; 95th percentile of latency, ms", runs, lambda run: _ms(run.p95_latency_ms))
        )
        tables.append(_grid(f"{title}; ms until half of the matches", runs, lambda run: _ms(run.half_ms)))
    if study.name in ("workloads", "physical", "radix_bits", "sorting_step"):
        tables.append(
            _grid(
                f"{title}; ns a row: {', '.join(PHASES)}",
                runs,
                lambda run: " ".join(f"{run.phases_ns_per_row[name]:.0f}" for name in PHASES),
            )
        )
    if study.name == "workloads":
        tables.append(
            _grid(f"{title}; memory at most, MiB", runs, lambda run: f"{run.peak_bytes / 2**20:.0f}")
        )
    return tables


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
