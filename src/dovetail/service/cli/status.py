"""`dovetail status [APP]`: the applications of a home, or how one is doing. It reads the home only, so it
needs no Spark, and the application may run on another machine, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.errors import CategoryNotFound, DovetailError, InputError
from dovetail.service.cli.arguments import AsJson, Home, OptionalApplication, home_at

if TYPE_CHECKING:
    from rich.table import Table

    from dovetail.engine.measure import StreamMeasure
    from dovetail.engine.window_measure import WindowMeasure
    from dovetail.service.metrics import Measured, MeasuredJoin

_STATES = {True: "running", False: "stopped", None: "unknown"}
_STYLES = {True: "green", False: "bright_black", None: "yellow"}


def _reference(wanted: bool) -> None:
    if wanted:
        from dovetail.service.prometheus import to_markdown

        print(to_markdown(), end="")
        raise typer.Exit


def status(
    application: OptionalApplication = None,
    *,
    home: Home = None,
    as_json: AsJson = False,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print Prometheus metrics, as a run serves them.")
    ] = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown",
            help="Print the reference page of all metrics.",
            callback=_reference,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """List the applications of a home, or show how one is doing: its streams, matches and memory, what it
    waits for, and which settings to change."""
    from dovetail.service.cli.log_output import print_json
    from dovetail.service.metrics import measured
    from dovetail.service.prometheus import to_prometheus

    place = home_at(home)
    if application is None:
        if prometheus:
            raise InputError("--prometheus needs the name of an application", expected="status APP")
        _list(place, as_json)
        return
    found = measured(place, application)
    if as_json:
        print_json(found.to_json())
    elif prometheus:
        print(to_prometheus(found).decode(), end="")
    else:
        _print(found)


def _list(home: str, as_json: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    from dovetail.plan.application_file import list_applications
    from dovetail.service.applications import is_running
    from dovetail.service.cli.log_output import print_json
    from dovetail.service.metrics import Measured, measured
    from dovetail.service.words.status_words import intake_words

    names = list_applications(home)
    found: dict[str, Measured | DovetailError] = {}
    for name in names:
        try:
            found[name] = measured(home, name)
        except CategoryNotFound:  # it was planned, but has not begun to read its inputs
            found[name] = Measured(name, 0, (), {}, {}, is_running(home, name))
        except DovetailError as error:  # one damaged application does not hide the others
            found[name] = error
    if as_json:
        print_json({"home": home, "applications": [_brief(name, one) for name, one in found.items()]})
        return
    console = Console(highlight=False)
    if not names:
        console.print(Text(f"{home} has no applications yet; `dovetail run FILE` starts one"), soft_wrap=True)
    width = max(map(len, names), default=0)
    for name, one in found.items():
        line = Text(f"{name:<{width}}  ", style="bold")
        if isinstance(one, DovetailError):
            console.print(line.append(one.what, style="red not bold"), soft_wrap=True)
            continue
        line.append(f"{_STATES[one.running]}", style=f"{_STYLES[one.running]} not bold")
        console.print(line.append("".join(f"  {text}" for text in _ages(one)), style="not bold"))
        for join in one.joins:
            if one.running and join.waiting:
                console.print(Text(f"  join {join.measure.name}: {join.waiting}", style="yellow"))
        for intake in one.intakes:
            if one.running and intake.source.trouble is not None:
                console.print(Text(f"  {intake_words(intake)}", style="yellow"), soft_wrap=True)


def _ages(found: Measured) -> list[str]:
    return [f"join {join.measure.name}: {join.age}" for join in found.joins] or ["no step yet"]


def _brief(name: str, found: Measured | DovetailError) -> dict[str, Any]:
    if isinstance(found, DovetailError):
        return {"name": name, **found.to_json()}
    joins = [
        {
            "name": join.measure.name,
            "step": join.measure.step,
            "stepped_at_us": join.stepped_at_us,
            "waiting": join.waiting if found.running else "",
        }
        for join in found.joins
    ]
    return {"name": name, "running": found.running, "joins": joins}


def _print(found: Measured) -> None:
    from rich.console import Console
    from rich.text import Text

    from dovetail.service.words.status_words import intake_words

    console = Console(highlight=False)
    running = _STATES[found.running], _STYLES[found.running]
    console.print(
        Text.assemble((found.application, "bold"), "  ", running, (_version(found), "bright_black")),
        soft_wrap=True,
    )
    if found.running is None:
        console.print("a run holds the application, but has written no metrics for a minute")
    for join in found.joins:
        console.print()
        console.print(
            Text.assemble(
                ("join ", "bright_black"), join.measure.name, (f"  as of {join.age}", "bright_black")
            )
        )
        if found.running and join.waiting:
            console.print(Text(join.waiting, style="yellow"), soft_wrap=True)
        console.print(_streams(join))
        for line in facts(join):
            console.print(Text(line), soft_wrap=True)
        for advice in join.advice:
            console.print(Text.assemble(("advice  ", "cyan"), advice.words), soft_wrap=True)
    for aggregate in found.aggregates:
        console.print()
        console.print(Text.assemble(("aggregate ", "bright_black"), aggregate.name))
        for line in aggregate_facts(aggregate):
            console.print(Text(line), soft_wrap=True)
    if found.intakes:
        console.print()
    for intake in found.intakes:
        style = "yellow" if found.running and intake.source.trouble is not None else ""
        console.print(Text(intake_words(intake), style=style), soft_wrap=True)
    for table, rows in found.rejected.items():
        console.print(f"rejected rows of {table}: {rows:,}")
    for table, files in found.vanished.items():
        console.print(f"vanished files of {table}: {files:,}")


def _version(found: Measured) -> str:
    from dovetail.service import units

    version = found.version
    if version is None:
        return ""
    since = "" if version.since_us is None else f" since {units.instant(version.since_us)} UTC"
    steps = ", ".join(f"{join} from step {step} on" for join, step in version.from_step.items())
    return f"  version {version.number}{since}{f' ({steps})' if steps else ''}"


def aggregate_facts(found: WindowMeasure) -> list[str]:
    """Facts about an aggregate, a line each."""
    from dovetail.service import units

    behind = "" if found.behind_us is None else f", {units.span(found.behind_us)} behind the clock"
    return [
        f"rows {found.rows:,}, in open windows {found.open_rows:,}, late {found.late:,}, "
        f"no valid time {found.invalid:,}",
        f"results {found.results:,}, stream time {units.instant(found.time_us)} UTC{behind}",
    ]


def _streams(join: MeasuredJoin) -> Table:
    from rich.table import Table

    from dovetail.service import units
    from dovetail.service.words.status_words import unsliced_words

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bright_black")
    for name in ("", "left", "right"):
        table.add_column(name, justify="left" if not name else "right")
    rows: dict[str, Callable[[StreamMeasure], str]] = {
        "rows": lambda s: f"{s.rows:,}",
        "rows/s, last minute": lambda s: units.count(round(s.rows_per_s)),
        "backlog": lambda s: f"{s.backlog_rows:,}",
        "backlog, event time": lambda s: units.span(s.backlog_us),
        "not sliced yet": lambda s: unsliced_words(s.source),
        "stream time, UTC": lambda s: units.instant(s.time_us),
        "behind the clock": lambda s: units.span(s.behind_us),
        "waited for the other": lambda s: units.share(s.paused_share),
        "ahead, not confirmed": lambda s: "—" if s.held_back is None else f"{s.held_back:,}",
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


def missed_words(totals: Mapping[str, int]) -> str:
    """With its standard error, once only a part of the keys is sampled."""
    error = math.isqrt(max(0, totals.get("missed_variance", 0)))
    return f"{totals.get('missed', 0):,}" + (f" ± {error:,}" if error else "")


def facts(join: MeasuredJoin) -> list[str]:
    """Facts about the join as a whole, a line each."""
    from dovetail.service import units
    from dovetail.service.words.status_words import rebuild_words, source_words, task_words

    found, totals = join.measure, join.measure.totals
    lines = [
        f"match rate {units.share(found.match_rate)}, matches {totals.get('pairs', 0):,}, "
        f"left alone {totals.get('left_alone', 0):,}, right alone {totals.get('right_alone', 0):,}",
        f"missed because of lateness, estimated: {missed_words(totals)}",
        f"index {units.size(totals.get('index_bytes', 0))}, at most {totals.get('peak_rows', 0):,} rows held",
        task_words(found.tasks, found.tasks_asked, found.tasks_from),
    ]
    if found.replay is not None:
        lines.insert(0, rebuild_words(found.replay.share, found.replay.rows_per_s, found.replay.left_s))
    if found.planning_share is not None:
        lines.append(f"planning took {units.share(found.planning_share)} of the time between steps")
    for bound, at in (join.distances or {}).items():
        lines.append(
            f"distance of matches from `{bound}`: {units.span(at.p01)}, {units.span(at.p50)}, "
            f"{units.span(at.p99)} (percentiles 1, 50, 99)"
        )
    for stream in found.streams:
        if stream.source is not None:
            lines.append(f"{stream.side}: {source_words(stream.source)}")
        if stream.frequent:
            keys = ", ".join(f"{', '.join(key.key)} ({units.share(key.share)})" for key in stream.frequent)
            lines.append(f"frequent keys, {stream.side}: {keys}")
        if stream.capped_keys:
            keys = ", ".join(f"{key} ({rows:,} rows)" for key, rows in stream.capped_keys.items())
            lines.append(f"most capped, {stream.side}: {keys}")
    return lines
