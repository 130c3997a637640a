"""The experiments as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from bench.accuracy_defaults import Cost, Overall, Spread, overall
from bench.accuracy_figures import BATCH, REALTIME, Accuracy, Estimated, Lagging, Report, WindowSize


def show(report: Report, *, each: bool = False) -> None:
    console = Console()
    for table in tables(report, each=each):
        console.print(table)


def tables(report: Report, *, each: bool = False) -> Iterator[Table]:
    """`each`: the defaults process by process, too."""
    if report.figure_8:
        yield _accuracy(report.figure_8)
    if report.figures_9_and_10:
        yield _windows(report.figures_9_and_10)
    if report.figure_12:
        yield _estimates(report.figure_12)
    if report.lagging:
        yield _lagging(report.lagging)
    if report.defaults:
        if each:
            yield _processes(report.defaults)
        yield _defaults(overall(report.defaults))


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


def _defaults(found: Sequence[Overall]) -> Table:
    rows = [
        (
            one.streams,
            one.setting,
            f"{_percent(one.found.median)}, {_percent(one.found.worst)}",
            str(one.below_98),
            *(_spread(spread) for spread in one.lone_s or (None, None)),
            *(_spread(spread) for spread in one.behind_s or (None, None)),
            f"{one.held_rows.median:,.0f}, {one.held_rows.worst:,.0f}" if one.held_rows else "",
        )
        for one in found
    ]
    heads = ("streams", "stream time", "pairs found", "below 98 %", *_DELAYS, "rows held")
    return _table("Every process: median over processes, worst", heads, rows)


def _processes(costs: Sequence[Cost]) -> Table:
    rows = [
        (
            one.streams,
            one.process,
            one.setting,
            _percent(one.found),
            *(
                (_time(seconds) for seconds in (*one.lone_s, *one.behind_s))
                if one.lone_s and one.behind_s
                else _NO_DELAYS
            ),
            "" if one.held_rows is None else f"{one.held_rows:,}",
        )
        for one in costs
    ]
    heads = ("streams", "process", "stream time", "pairs found", *_DELAYS, "rows held")
    return _table("Process by process", heads, rows)


_DELAYS = ("lone rows after", "99 %", "time behind", "99 %")
_NO_DELAYS = ("", "", "", "")


def _spread(spread: Spread | None) -> str:
    return f"{_time(spread.median)}, {_time(spread.worst)}" if spread else ""


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
