"""`dovetail status APP`: how an application is doing. It reads the home only, so it needs no Spark, and the
application may run on another machine, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.service.settings import HOME

if TYPE_CHECKING:
    from rich.table import Table

    from dovetail.engine.measure import StreamMeasure
    from dovetail.service.metrics import Measured, MeasuredJoin


def _reference(wanted: bool) -> None:
    if wanted:
        from dovetail.service.metrics import to_markdown

        print(to_markdown(), end="")
        raise typer.Exit


def status(
    application: Annotated[str, typer.Argument(metavar="APP", help="Name of the application.")],
    *,
    home: Annotated[str | None, typer.Option("--home", envvar=HOME.variable, help=HOME.sentence)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print Prometheus metrics, as a run serves them.")
    ] = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown",
            help="Print the reference page of metrics; needs no APP.",
            callback=_reference,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Say how an application is doing: streams, matches, memory, and what could be set better."""
    from dovetail.log.homes.filesystem import absolute_home
    from dovetail.service.cli.log_output import print_json
    from dovetail.service.metrics import measured, to_prometheus

    found = measured(absolute_home(HOME.read(home)), application)
    if as_json:
        print_json(found.to_json())
    elif prometheus:
        print(to_prometheus(found).decode(), end="")
    else:
        _print(found)


def _print(found: Measured) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(found.application, style="bold"))
    for join in found.joins:
        console.print()
        console.print(Text.assemble(("join ", "bright_black"), join.measure.name))
        console.print(_streams(join))
        for line in facts(join):
            console.print(Text(line), soft_wrap=True)
        for advice in join.advice:
            console.print(Text.assemble(("advice  ", "cyan"), advice.words), soft_wrap=True)
    for table, rows in found.rejected.items():
        console.print(f"rejected rows of {table}: {rows:,}")


def _streams(join: MeasuredJoin) -> Table:
    from rich.table import Table

    from dovetail.service import units

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bright_black")
    for name in ("", "left", "right"):
        table.add_column(name, justify="left" if not name else "right")
    rows: dict[str, Callable[[StreamMeasure], str]] = {
        "rows": lambda s: f"{s.rows:,}",
        "rows/s, last minute": lambda s: units.count(round(s.rows_per_s)),
        "backlog": lambda s: f"{s.backlog_rows:,}",
        "backlog, event time": lambda s: units.span(s.backlog_us),
        "stream time, UTC": lambda s: units.instant(s.time_us),
        "behind the clock": lambda s: units.span(s.behind_us),
        "waited for the other": lambda s: units.share(s.paused_share),
        "held": lambda s: f"{s.held_rows:,}",
        "late": lambda s: f"{s.late:,}",
        "null keys": lambda s: f"{s.null_keys:,}",
        "no valid time": lambda s: f"{s.invalid:,}",
        "capped": lambda s: f"{s.capped:,}",
        "needed in the log": lambda s: units.size(s.log_bytes),
        "estimate's window": lambda s: "—" if s.window is None else f"{s.window}",
        "estimate's accuracy": lambda s: units.share(s.accuracy),
    }
    for name, value in rows.items():
        table.add_row(name, *(value(stream) for stream in join.measure.streams))
    return table


def facts(join: MeasuredJoin) -> list[str]:
    """What is known of the join as a whole, a line each."""
    from dovetail.service import units
    from dovetail.service.words.replay_words import replay_words
    from dovetail.service.words.task_words import task_words

    found, totals = join.measure, join.measure.totals
    lines = [
        f"match rate {units.share(found.match_rate)}, matches {totals.get('pairs', 0):,}, "
        f"left alone {totals.get('left_alone', 0):,}, right alone {totals.get('right_alone', 0):,}",
        f"missed for lateness, estimated: {totals.get('missed', 0):,}",
        f"index {units.size(totals.get('index_bytes', 0))}, at most {totals.get('peak_rows', 0):,} rows held",
        task_words(found.tasks, found.tasks_asked, found.tasks_from),
    ]
    if found.replay is not None:
        lines.insert(0, replay_words(found.replay.share, found.replay.rows_per_s, found.replay.left_s))
    if found.planning_share is not None:
        lines.append(f"planning took {units.share(found.planning_share)} of the time from step to step")
    for bound, at in (join.distances or {}).items():
        lines.append(
            f"matches lie {units.span(at.p01)}, {units.span(at.p50)}, {units.span(at.p99)} from `{bound}` "
            "(percentiles 1, 50, 99)"
        )
    for stream in found.streams:
        if stream.frequent:
            keys = ", ".join(f"{', '.join(key.key)} ({units.share(key.share)})" for key in stream.frequent)
            lines.append(f"frequent keys, {stream.side}: {keys}")
        if stream.capped_keys:
            keys = ", ".join(f"{key} ({rows:,} rows)" for key, rows in stream.capped_keys.items())
            lines.append(f"most capped, {stream.side}: {keys}")
    return lines
