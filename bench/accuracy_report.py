"""The experiments as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from bench.accuracy_figures import BATCH, REALTIME, Accuracy, Estimated, Lagging, Report, WindowSize


def show(report: Report) -> None:
    console = Console()
    for table in tables(report):
        console.print(table)


def tables(report: Report) -> Iterator[Table]:
    if report.figure_8:
        yield _accuracy(report.figure_8)
    if report.figures_9_and_10:
        yield _windows(report.figures_9_and_10)
    if report.figure_12:
        yield _estimates(report.figure_12)
    if report.lagging:
        yield _lagging(report.lagging)


def _accuracy(found: Accuracy) -> Table:
    names = (*BATCH, REALTIME)
    rows = [
        (label, *(_percent(day[name]) for name in names))
        for label, day in (*((f"day {n + 1}", day) for n, day in enumerate(found.days)), ("mean", found.mean))
    ]
    heads = ("", *(name.replace("-ws-", " ").replace("-", " ", 1) for name in names))
    return _table("Figure 8: left rows with a partner", heads, rows)


def _windows(sizes: Sequence[WindowSize]) -> Table:
    rows = [
        (
            f"{one.hours:g} h",
            f"{one.peak_rows:,}",
            f"{one.mean_rows:,.0f}",
            _percent(one.success),
            _percent(one.batch),
        )
        for one in sizes
    ]
    heads = ("window", "rows held, peak", "mean", "success", "batch, same window")
    return _table("Figures 9 and 10: what a window holds, and finds", heads, rows)


def _estimates(streams: Sequence[Estimated]) -> Table:
    rows = [
        (
            one.stream,
            " .. ".join(_time(seconds) for seconds in one.delay_s),
            " .. ".join(f"{size:.0f}" for size in one.window),
            _percent(one.accuracy),
        )
        for one in streams
    ]
    heads = ("stream", "delay of its time", "window, micro-batches", "accuracy")
    return _table("Figure 12: percentile 5, ascending 5, micro-batches of 2 s", heads, rows)


def _lagging(runs: Sequence[Lagging]) -> Table:
    rows = [
        (one.pacing, f"{one.peak_rows:,}", f"{one.peak_rows / one.window_rows:.2f}", _percent(one.success))
        for one in runs
    ]
    rows.append(("batch", "", "", _percent(runs[0].batch)))
    heads = ("pacing", "rows held, peak", "of window + slack", "left rows with a partner")
    return _table("One stream hours behind the other", heads, rows)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(title=title)
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.1f} s"
