"""`dovetail service`: what people do with the applications that `dovetail serve` keeps running. It writes
what is wanted to the home; the service makes it so, now or when it runs again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from dovetail.service.cli.arguments import Application, AsJson, Begins, Home, Reslice, home_at
from dovetail.service.cli.me import me

app = typer.Typer(
    help="Apply, start, stop and delete the applications of the service.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def apply(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of .pql files, or one file.")],
    *,
    look: Annotated[bool, typer.Option("--look", help="Show what would change, and change nothing.")] = False,
    begins: Begins = None,
    reslice: Reslice = False,
    home: Home = None,
) -> None:
    """Let the service run the queries of a folder: all of them, or none if one is refused. Applications that
    the folder does not have are listed and left as they are."""
    from dovetail.service.keeping.apply import apply as apply_all
    from dovetail.service.keeping.apply import look as looked

    found = looked(home_at(home), place, me(), begins=begins or (), reslice=reslice)
    for one in found.planned:
        typer.echo(f"{one.application or one.file}: {one.difference}")
        for line in one.changes:
            typer.echo(f"  {line}")
        for finding in one.findings:
            typer.echo(f"error: {finding.error}", err=True)
    for name in found.elsewhere:
        typer.echo(f"{name}: not in {place}, left as it is")
    if not found.ok:
        typer.echo("nothing was changed", err=True)
        raise typer.Exit(1)
    if not look:
        apply_all(home_at(home), found, by=me())


@app.command()
def start(application: Application, home: Home = None) -> None:
    """Start an application."""
    from dovetail.service.keeping import verbs

    verbs.start(home_at(home), application, by=me())


@app.command()
def stop(application: Application, home: Home = None) -> None:
    """Stop an application. Its state is kept."""
    from dovetail.service.keeping import verbs

    verbs.stop(home_at(home), application, by=me())


@app.command()
def restart(application: Application, home: Home = None) -> None:
    """Stop an application and start it again."""
    from dovetail.service.keeping import verbs

    verbs.restart(home_at(home), application, by=me())


@app.command()
def rollback(
    application: Application,
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", min=1, help="The version to go back to.")
    ] = None,
    begins: Begins = None,
    reslice: Reslice = False,
    home: Home = None,
) -> None:
    """Let the service run the query of an earlier version. Default: the previous one."""
    from dovetail.service.keeping import verbs

    verbs.rollback(home_at(home), application, number, by=me(), begins=begins or (), reslice=reslice)


@app.command()
def place(
    application: Application,
    where: Annotated[
        Literal["pool", "own"],
        typer.Argument(help="`pool`: share a process with others. `own`: a process of its own."),
    ],
    *,
    master: Annotated[str, typer.Option(help="Spark master, with `own`. Default: the service's.")] = "",
    home: Home = None,
) -> None:
    """Move an application into a pool, or into a process of its own. It continues where it was."""
    from dovetail.service.keeping import verbs

    verbs.place(home_at(home), application, where, master, by=me())


@app.command()
def scale(
    application: Application,
    tasks: Annotated[str, typer.Argument(help="Number of tasks of each join, or `auto`.")],
    home: Home = None,
) -> None:
    """Change the number of tasks of the joins of an application."""
    from dovetail.service.keeping import verbs

    verbs.scale(home_at(home), application, tasks, by=me())


@app.command()
def scaler(
    application: Application,
    mode: Annotated[
        Literal["act", "advise", "off"] | None,
        typer.Argument(
            help="`act`: change tasks. `advise`: only report. `off`: neither. Omit to show the current mode."
        ),
    ] = None,
    *,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Show what it would have decided with the figures of the last day."),
    ] = False,
    most: Annotated[int, typer.Option(min=1, max=64, help="With --replay: at most N tasks.")] = 64,
    home: Home = None,
) -> None:
    """Let the service choose the number of tasks, and show what it has decided and why."""
    from dovetail.service.keeping import verbs
    from dovetail.service.keeping.wanted import wanted_of
    from dovetail.service.scaler.decisions import decisions
    from dovetail.service.units import instant

    place = home_at(home)
    if mode is not None:
        verbs.let_scale(place, application, mode, by=me())
        return
    typer.echo(f"mode: {wanted_of(place, application).scaler}")
    if replay:
        for at_us, words in _decided_again(place, application, most):
            typer.echo(f"{instant(at_us)}  {words}")
        return
    for row in reversed(decisions(place, application)):
        when = row["eventtime"].strftime("%Y-%m-%d %H:%M:%S")
        tasks = f"{row['before']} to {row['after']} tasks"
        typer.echo(f"{when}  {row['join']} {row['direction']} ({row['mode']}), {tasks}: {row['reason']}")


@app.command()
def quota(
    owner: Annotated[str | None, typer.Argument(metavar="[OWNER]", help="Owner. Default: all.")] = None,
    *,
    memory: Annotated[str | None, typer.Option(help="Join state, such as 2GB, or `none`.")] = None,
    rate: Annotated[str | None, typer.Option(help="Rows per second, or `none`.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Tasks of all joins, or `none`.")] = None,
    home: Home = None,
) -> None:
    """Limit what the applications of an owner may use together. An application beyond the limit waits."""
    from dataclasses import replace

    from dovetail.service.cli.log_limits import size_bytes
    from dovetail.service.keeping import quotas

    place = home_at(home)
    if owner is not None and (memory, rate, tasks) != (None, None, None):
        found = quotas.allowed(place, owner)
        if memory is not None:
            found = replace(found, memory_bytes=size_bytes(memory))
        if rate is not None:
            found = replace(found, rows_per_s=_number("--rate", rate))
        if tasks is not None:
            found = replace(found, tasks=_number("--tasks", tasks))
        quotas.set_quota(place, found)
        return
    for one in quotas.quotas(place).values():
        if owner in (None, one.owner):
            typer.echo(f"{one.owner}: {quotas.words(one)}")


@app.command()
def clone(
    application: Application,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new application.")],
    home: Home = None,
) -> None:
    """Copy the query of an application under another name. It is not started."""
    from dovetail.service.keeping import verbs

    verbs.clone(home_at(home), application, name, by=me())


@app.command()
def give(
    application: Application,
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="A user, or @group.")],
    home: Home = None,
) -> None:
    """Give an application to another owner. Its query must be within their reach."""
    from dovetail.service.keeping import verbs

    verbs.give(home_at(home), application, owner, by=me())


@app.command()
def delete(
    application: Application,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
) -> None:
    """Stop an application and remove its files after a day. Lists them first."""
    from dovetail.service.keeping import verbs
    from dovetail.service.keeping.removal import belongings

    place = home_at(home)
    for each in belongings(place, application):
        typer.echo(f"goes after a day: {each}")
    if not yes:
        typer.confirm(f"delete {application}?", abort=True)
    verbs.delete(place, application, by=me())


@app.command()
def restore(application: Application, home: Home = None) -> None:
    """Undo a deletion, within a day."""
    from dovetail.service.keeping import verbs

    verbs.restore(home_at(home), application, by=me())


@app.command()
def events(
    application: Annotated[
        str | None, typer.Argument(metavar="[APP]", help="Show only events of this application.")
    ] = None,
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Show the newest N.")] = 20,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to applications, and who did it."""
    from dovetail.service.cli.log_output import plain, print_json
    from dovetail.service.keeping.events import events as recorded

    found = recorded(home_at(home), application, limit)
    if as_json:
        print_json([plain(row) for row in found])
        return
    for row in reversed(found):
        when = row["eventtime"].strftime("%Y-%m-%d %H:%M:%S")
        typer.echo(f"{when}  {row['application']}  {row['kind']}: {row['words']} ({row['by']})")


def _decided_again(home: str, application: str, most: int) -> list[tuple[int, str]]:
    import time

    from dovetail.service.scaler.loop import histories, replay
    from dovetail.service.scaler.sample import TaskLimits
    from dovetail.service.server.ledger import ServiceLedger, ledger_path

    ledger = ServiceLedger(ledger_path(home))
    history = ledger.history(application, time.time() - 86_400, most=10_000)
    ledger.close()
    found = [
        (round(at_s * 1e6), f"{join} {said.direction} to {said.tasks} tasks: {said.reason}")
        for join, samples in histories(history).items()
        for at_s, said in replay(samples, TaskLimits(1, most, "--most"))
    ]
    return sorted(found)


def _number(option: str, text: str) -> int | None:
    from dovetail.errors import InputError

    if text.strip().lower() == "none":
        return None
    if not text.isdigit():
        raise InputError(f"{option} {text} is not a number", expected="a whole number, or none")
    return int(text)
