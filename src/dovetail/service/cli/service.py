"""`dovetail service`: what people do with the applications that `dovetail serve` keeps running. It writes
what is wanted to the home; the service makes it so, now or when it runs again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dovetail.service.cli.arguments import Application, AsJson, Home, home_at
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
    look: Annotated[bool, typer.Option("--look", help="Show what would change, and touch nothing.")] = False,
    home: Home = None,
) -> None:
    """Let the service run the queries of a folder: all of them, or none if one cannot be. Applications that
    the folder does not have are listed and left as they are."""
    from dovetail.service.keeping.apply import apply as apply_all
    from dovetail.service.keeping.apply import look as looked

    found = looked(home_at(home), place, me())
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
    """Stop an application. It keeps what it has seen."""
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
    home: Home = None,
) -> None:
    """Let the service run the query of an earlier version; the one before by default."""
    from dovetail.service.keeping import verbs

    verbs.rollback(home_at(home), application, number, by=me())


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
    """Stop an application and, after a day, remove what is its own. What goes is named first."""
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
    application: Annotated[str | None, typer.Argument(metavar="[APP]", help="Of one application.")] = None,
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
