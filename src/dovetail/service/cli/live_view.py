"""The live view of a running application: `render` is a pure function of its figures, `LiveView` shows it.

On a terminal the view is redrawn in place, and its clock goes on while nothing else happens. Anywhere else
every interval prints a few plain lines, so that the log file of a service stays readable. Both go to stderr:
stdout is for results and JSON.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from dovetail.service import units
from dovetail.service.figures import JoinFigures, RebuildFigures, RunFigures
from dovetail.service.words.status_words import rebuild_words

ENDED = ("stopped", "done")
"""Phases in which the clock no longer runs."""
_LABEL, _LINE, _ACCENT, _WARN = "bright_black", "bright_black", "cyan", "yellow"


class _Widths(NamedTuple):
    """Columns have fixed widths: nothing moves when numbers change. Names and the bar take the rest."""

    name: int
    spark: int
    time: int
    bar: int


_FEWEST, _MOST = 80, 120
_RATE_COLUMNS = 23
"""The text before the bar of a match rate."""


def _widths(columns: int) -> _Widths:
    columns = min(_MOST, max(_FEWEST, columns))
    if columns < _MOST:
        return _Widths(name=columns - 67, spark=9, time=len("10:40:12"), bar=columns - 25)
    return _Widths(name=columns - 93, spark=24, time=len("2018-08-20 10:40:12"), bar=columns - 25)


def render(figures: RunFigures, columns: int = _FEWEST) -> RenderableType:
    """The view for a terminal of this width: title, streams, what it waits for, a block per join, output."""
    widths = _widths(columns)
    parts: list[RenderableType] = [
        _title(figures),
        Rule(style=_LINE),
        _flow(figures, widths),
        Text(figures.waiting, style=_WARN, overflow="ellipsis", no_wrap=True),
    ]
    for join in figures.joins:
        parts += [_join(join, widths), Text()]
    parts.append(Text.assemble(("to  ", _LABEL), figures.output, overflow="ellipsis", no_wrap=True))
    return Padding(Group(*parts), (0, max(1, columns - _MOST + 1), 0, 1))


def _title(figures: RunFigures) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(no_wrap=True)
    line.add_column(justify="right", no_wrap=True)
    now = Text.assemble(
        (figures.phase, _ACCENT),
        ("   memory ", _LABEL),
        f"{units.size(figures.memory.bytes)} {figures.memory.kind}",
        ("   " + units.duration(figures.elapsed_s), _LABEL),
    )
    line.add_row(Text.assemble(("dovetail  ", _LABEL), (figures.application, "bold")), now)
    return line


def _flow(figures: RunFigures, widths: _Widths) -> RenderableType:
    """A row for each input stream, and one for the output."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_LABEL)
    table.add_column("", width=5)
    table.add_column("", width=widths.name)
    table.add_column("rows", width=7, justify="right")
    table.add_column("rows/s", width=7, justify="right")
    table.add_column("", width=widths.spark)
    table.add_column(
        "time UTC" if widths.time < 16 else "stream time, UTC", width=widths.time, justify="right"
    )
    table.add_column("backlog", width=7, justify="right")
    table.add_column("rejected", width=8, justify="right")
    for stream in figures.streams:
        table.add_row(
            Text(stream.side, style=_LABEL),
            Text(stream.name, overflow="ellipsis", no_wrap=True),
            units.count(stream.rows_in),
            units.count(round(stream.rows_per_s)),
            Text(units.sparkline(stream.rate_history, widths.spark), style=_ACCENT),
            units.instant(stream.stream_time_us)[-widths.time :],
            units.count(stream.backlog_rows),
            _noticed(stream.rejected_rows),
        )
    table.add_row(
        Text("out", style=_LABEL),
        "",
        units.count(figures.out_rows),
        units.count(round(figures.out_rows_per_s)),
        Text(units.sparkline(figures.out_rate_history, widths.spark), style=_ACCENT),
    )
    return table


def _join(join: JoinFigures, widths: _Widths) -> RenderableType:
    cells = (
        ("matches", units.count(join.matches)),
        ("left alone", units.count(join.left_alone)),
        ("right alone", units.count(join.right_alone)),
        ("open", units.count(join.open_rows)),
        ("retained", units.count(join.retained_rows)),
        ("index", units.size(join.index_bytes)),
        ("late", _noticed(join.late_rows)),
        ("missed", _noticed(join.missed)),
        ("invalid", _noticed(join.invalid_rows)),
        ("capped", _noticed(join.capped_rows)),
        ("left waited", units.share(join.waited[0])),
        ("right waited", units.share(join.waited[1])),
    )
    grid = Table.grid(padding=(0, 1, 0, 0))
    for _ in range(3):
        grid.add_column(width=12, style=_LABEL)
        grid.add_column(width=8, justify="right")
        grid.add_column(width=2)
    for start in range(0, len(cells), 3):
        grid.add_row(*(part for label, value in cells[start : start + 3] for part in (label, value, "")))
    return Group(
        Text.assemble(("join  ", _LABEL), join.name),
        _match_rate(join, widths) if join.replay is None else _replay(join.replay, widths),
        grid,
        *(Text.assemble(("advice  ", _ACCENT), words, overflow="ellipsis") for words in join.advice),
    )


def _match_rate(join: JoinFigures, widths: _Widths) -> Text:
    rate = Text.assemble(("match rate  ", _LABEL), (f"{units.share(join.match_rate):>8}", "bold"), "   ")
    return rate.append_text(_bar(join.match_rate or 0.0, widths.bar))


def _replay(replay: RebuildFigures, widths: _Widths) -> Text:
    """Replaces the match rate, which does not change during a rebuild. The bar takes the room that the words
    leave."""
    words = rebuild_words(replay.share, replay.rows_per_s, replay.left_s)
    room = widths.bar + _RATE_COLUMNS - len(words) - 2
    return Text.assemble((words, _WARN), "  ").append_text(_bar(replay.share, room))


def _noticed(rows: int) -> Text:
    """A count that should be zero."""
    return Text(units.count(rows), style=_WARN if rows else "")


def _bar(fraction: float, width: int) -> Text:
    full = round(min(1.0, max(0.0, fraction)) * width)
    return Text.assemble(("━" * full, _ACCENT), ("─" * (width - full), _LINE))


PLAIN_WIDTH = 120


def plain_lines(figures: RunFigures) -> list[str]:
    """A few lines for logs, each at most PLAIN_WIDTH characters: the run, its joins, what it waits for. A
    count that should be zero is there only if it is not."""
    rows = " + ".join(units.count(stream.rows_in) for stream in figures.streams) or "0"
    rate = units.count(round(sum(stream.rows_per_s for stream in figures.streams)))
    first = [
        f"{_short(figures.application)} {figures.phase} {units.duration(figures.elapsed_s)}",
        f"in {rows} rows, {rate}/s",
        f"out {units.count(figures.out_rows)} rows, {units.count(round(figures.out_rows_per_s))}/s",
        f"memory {units.size(figures.memory.bytes)} {figures.memory.kind}",
    ]
    lines = [first, *(_plain_join(join, figures) for join in figures.joins)]
    if figures.waiting:
        lines.append([f"  {figures.waiting}"])
    return [_fitting(fields) for fields in lines]


def _plain_join(join: JoinFigures, figures: RunFigures) -> list[str]:
    fields = [f"  join {_short(join.name)}"]
    if join.replay is not None:
        fields.append(rebuild_words(join.replay.share, join.replay.rows_per_s, join.replay.left_s))
    backlog = sum(stream.backlog_rows for stream in figures.streams)
    counts = {"late": join.late_rows, "missed": join.missed, "invalid": join.invalid_rows}
    counts |= {"capped": join.capped_rows, "rejected": join.rejected_rows}
    return [
        *fields,
        f"match rate {units.share(join.match_rate)}",
        f"open {units.count(join.open_rows)}",
        f"retained {units.count(join.retained_rows)}",
        f"index {units.size(join.index_bytes)}",
        *([f"backlog {units.count(backlog)}"] if len(figures.joins) == 1 else []),
        *(f"{name} {units.count(rows)}" for name, rows in counts.items() if rows),
    ]


def _short(name: str) -> str:
    return name if len(name) <= 32 else f"{name[:31]}…"


def _fitting(fields: list[str]) -> str:
    """As many fields as fit into a line, most important first."""
    line = fields[0]
    for field in fields[1:]:
        if len(line) + len(field) + 3 <= PLAIN_WIDTH:
            line = f"{line} | {field}"
    return line if len(line) <= PLAIN_WIDTH else f"{line[: PLAIN_WIDTH - 1]}…"


class LiveView:
    """Shows figures as they come. The last ones stay on the screen."""

    def __init__(
        self,
        console: Console | None = None,
        *,
        interval_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console or Console(stderr=True)
        self.interval_s = interval_s
        self.clock = clock
        self.last: RunFigures | None = None
        self._printed_at: float | None = None
        self._updated_at = clock()
        self._live = (
            Live(console=self.console, get_renderable=self._now, refresh_per_second=2)
            if self.console.is_terminal
            else None
        )

    def __enter__(self) -> LiveView:
        if self._live:
            self._live.start()
        return self

    def _now(self) -> RenderableType:
        """The last figures, with the time since then added to their clock."""
        last = self.last
        if last is None:
            return Text()
        since_s = 0.0 if last.phase in ENDED else self.clock() - self._updated_at
        return render(replace(last, elapsed_s=last.elapsed_s + since_s), self.console.width)

    def update(self, figures: RunFigures) -> None:
        self.last, self._updated_at = figures, self.clock()
        if self._live:
            self.refresh()
        elif self._printed_at is None or self.clock() - self._printed_at >= self.interval_s:
            self._print_line()

    def refresh(self) -> None:
        """Draw the view again; on a terminal this also happens twice a second by itself."""
        if self._live:
            self._live.refresh()

    def _print_line(self) -> None:
        if self.last is not None:
            self._printed_at = self.clock()
            text = "\n".join(plain_lines(self.last))
            self.console.print(text, soft_wrap=True, highlight=False, markup=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        else:
            self._print_line()
