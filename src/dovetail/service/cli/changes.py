"""`dovetail diff`, `versions` and `rollback`: what a change of an application would do, and what changes
did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.service.cli.arguments import Application, AsJson, Begins, Home, Reslice, home_at
from dovetail.service.cli.pql_file import PqlFile, read_pql

if TYPE_CHECKING:
    from dovetail.changes.versions import Version


def diff(
    application: Application,
    file: PqlFile,
    home: Home = None,
    begins: Begins = None,
    reslice: Reslice = False,
    as_json: AsJson = False,
) -> None:
    """Show what another query would change, and what happens to the rows that the application holds. Nothing
    is touched. Exits with 1 if the change would be refused."""
    from dovetail.changes.positions import positions_in
    from dovetail.changes.verdict import strictest
    from dovetail.changes.words import change_lines, verdict_words
    from dovetail.service.proposal import proposal

    positions = positions_in(begins or ())
    proposed = proposal(home_at(home), read_pql(file), str(file), application, positions, reslice=reslice)
    current, changes = proposed.current, proposed.changes
    if as_json:
        said = {
            "application": application,
            "version": current.version,
            "verdict": strictest(changes),
            "changes": [change.to_json() for change in changes],
        }
        typer.echo(json.dumps(said, indent=2))
    else:
        typer.echo(f"{application}, version {current.version}, with {file}: {verdict_words(changes)}")
        for line in change_lines(changes):
            typer.echo(f"  {line}")
    if strictest(changes) == "refused":
        raise typer.Exit(1)


def versions(
    application: Application,
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", min=1, help="Show this version with its query.")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the versions of an application: who changed it when, and what happened to its state."""
    from dovetail.changes.timeline import counted
    from dovetail.changes.versions import read_version, version_numbers
    from dovetail.errors import DovetailError
    from dovetail.plan.application_file import read_current

    place = home_at(home)
    current = read_current(place, application)
    if number is not None:
        one = read_version(place, application, number)
        _show(one, number == current.version, counted(place, application, [number])[number], as_json)
        return
    found: list[Version] = []
    damaged: list[DovetailError] = []
    numbers = version_numbers(place, application)
    ran = counted(place, application, numbers)
    for each in numbers:
        try:
            found.append(read_version(place, application, each))
        except DovetailError as error:
            damaged.append(error)
    if as_json:
        said = [_as_data(one, one.number == current.version, ran[one.number]) for one in found]
        typer.echo(json.dumps(said, indent=2))
    else:
        for one in found:
            typer.echo(_line(one, one.number == current.version, ran[one.number]))
    for trouble in damaged:
        typer.echo(f"warning: {trouble}", err=True)


def rollback(
    application: Application,
    number: Annotated[
        int | None,
        typer.Argument(metavar="[N]", min=1, help="The version to go back to. Default: the previous one."),
    ] = None,
    *,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Process the available input, then stop.")
    ] = False,
    begins: Begins = None,
    reslice: Reslice = False,
    home: Home = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs.")] = None,
) -> None:
    """Go back to the query of an earlier version. This is a change like any other: it becomes the next
    version, and rows that have arrived meanwhile stay."""
    from dovetail.changes.versions import read_version
    from dovetail.errors import StateError
    from dovetail.plan.application_file import read_current
    from dovetail.service.cli.run import run_and_watch
    from dovetail.service.settings import MASTER

    place = home_at(home)
    current = read_current(place, application)
    wanted = number or read_version(place, application, current.version).parent
    if wanted is None:
        raise StateError(
            f"application {application} has had only one query",
            where=place,
            expected="a version before the current one",
            hint=f"`dovetail versions {application}` lists them",
        )
    version = read_version(place, application, wanted)
    if version.text is None:
        raise StateError(
            f"version {wanted} of {application} was not written in PQL",
            where=place,
            expected="a version that was started with `dovetail run`",
            hint="call dovetail.join with the arguments of that version, or run its PQL file",
        )
    run_and_watch(
        (version.text, f"version {wanted}"),
        home=place,
        master=MASTER.read(master),
        mode="available-now" if available_now else "stream",
        parent=current.version,
        begins=begins or (),
        reslice=reslice,
    )


def _line(version: Version, current: bool, ran: bool | None) -> str:
    from dovetail.changes.words import verdict_words
    from dovetail.service.units import instant

    what = "first query" if version.parent is None else verdict_words(version.changes)
    mark = "*" if current else " "
    took = ", ".join(f"{join} after step {step}" for join, step in version.took_over.items())
    if ran is False:
        took = "never took over"
    line = f"{mark} {version.number:>3}  {instant(version.made_at_us)}  {version.author}  {what}"
    return f"{line} ({took})" if took else line


def _show(version: Version, current: bool, ran: bool | None, as_json: bool) -> None:
    from dovetail.changes.words import change_lines

    if as_json:
        typer.echo(json.dumps(_as_data(version, current, ran), indent=2))
        return
    typer.echo(_line(version, current, ran).rstrip())
    for line in change_lines(version.changes, places=False):
        typer.echo(f"  {line}")
    typer.echo(f"\n{version.text.strip() if version.text else '(no PQL text)'}")


def _as_data(version: Version, current: bool, ran: bool | None) -> dict[str, object]:
    return {
        "number": version.number,
        "current": current,
        "counted": ran,
        "parent": version.parent,
        "author": version.author,
        "origin": version.origin,
        "made_at_us": version.made_at_us,
        "took_over": dict(version.took_over),
        "changes": [change.to_json() for change in version.changes],
        "text": version.text,
    }
