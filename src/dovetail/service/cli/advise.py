"""`dovetail advise APP`: what would improve an application; with `--apply` it becomes the next version."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.errors import PreviewError, StateError
from dovetail.service.advised import Numbered, following, numbered_advice
from dovetail.service.cli.arguments import Application, AsJson, Home, home_at
from dovetail.service.cli.pql_file import read_pql

if TYPE_CHECKING:
    from dovetail.service.proposal import Proposal


def advise(
    application: Application,
    *,
    apply: Annotated[
        bool, typer.Option("--apply", help="Change the query as advised, show what differs, and run it.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(help="With --apply: the PQL file of the application. It is changed in place."),
    ] = None,
    only: Annotated[
        int | None, typer.Option(min=1, help="With --apply: take only this piece of advice.", metavar="N")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --apply: do not ask.")] = False,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Process the available input, then stop.")
    ] = False,
    home: Home = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show advice for an application, with gains and costs. --apply writes it into the query, shows which
    rows would differ, asks, and runs the changed query as the next version."""
    place = home_at(home)
    found = numbered_advice(place, application)
    if not apply:
        _print(application, found, as_json)
        return
    chosen = [one for one in found if only in (None, one.number)]
    if not chosen:
        raise StateError(
            f"there is no {'advice' if only is None else f'advice {only}'} for {application}",
            where=place,
            expected=f"one of {', '.join(str(one.number) for one in found)}" if found else "some advice",
            hint=f"`dovetail advise {application}` lists the advice; it needs a few hundred matches",
        )
    _follow(place, application, chosen, file, yes=yes, available_now=available_now, master=master)


def _print(application: str, found: list[Numbered], as_json: bool) -> None:
    if as_json:
        said = [
            {"number": one.number, "join": one.join, **asdict(one.advice), "words": one.advice.words}
            for one in found
        ]
        typer.echo(json.dumps({"application": application, "advice": said}, indent=2))
        return
    for one in found:
        typer.echo(f"{one.number:>3}  join {one.join}: {one.advice.words}")
    if found:
        typer.echo(f"`dovetail advise {application} --apply` makes that the next version, after a preview")
    else:
        typer.echo(f"no advice for {application}")


def _follow(
    home: str,
    application: str,
    chosen: list[Numbered],
    file: Path | None,
    *,
    yes: bool,
    available_now: bool,
    master: str | None,
) -> None:
    from dovetail.changes.words import change_lines, verdict_words
    from dovetail.service.cli.run import run_and_watch
    from dovetail.service.proposal import proposal
    from dovetail.service.settings import MASTER

    text, name = _query(home, application, file)
    before = proposal(home, text, name, application)
    if file is not None and before.changes:
        raise StateError(
            f"{file} is not the query that {application} runs: {verdict_words(before.changes)}",
            where=str(file),
            expected=f"the query of version {before.current.version}",
            hint=f"run it first, or leave out --file; `dovetail diff {application} {file}` says what differs",
        )

    new = following(home, application, text, name, chosen)
    proposed = proposal(home, new, name, application)
    for line in difflib.unified_diff(text.splitlines(), new.splitlines(), name, name, lineterm="", n=0):
        typer.echo(line)
    typer.echo(verdict_words(proposed.changes))
    for line in change_lines(proposed.changes, places=False):
        typer.echo(f"  {line}")
    _show_preview(home, proposed)
    if not yes:
        typer.confirm(f"run {application} with this query?", abort=True, err=True)
    if file is not None:
        file.write_text(new, encoding="utf-8")
    run_and_watch(
        (new, name),
        home=home,
        master=MASTER.read(master),
        mode="available-now" if available_now else "stream",
        parent=proposed.current.version,
        origin=file,
    )


def _query(home: str, application: str, file: Path | None) -> tuple[str, str]:
    """The text to change, and its name."""
    if file is not None:
        return read_pql(file), str(file)
    from dovetail.changes.versions import read_version
    from dovetail.plan.application_file import read_current

    number = read_current(home, application).version
    text = read_version(home, application, number).text
    if text is None:
        raise StateError(
            f"version {number} of {application} was not written in PQL",
            where=home,
            expected="an application that was started with `dovetail run`",
            hint="call dovetail.join with the bounds that are advised",
        )
    return text, f"version {number}"


def _show_preview(home: str, proposed: Proposal) -> None:
    from dovetail.preview.preview import preview
    from dovetail.service.words.preview_words import preview_lines

    try:
        found = preview(home, proposed.current.plan, proposed.plan)
    except PreviewError as error:  # the rules still apply, and the user decides
        typer.echo(f"no preview: {error}")
        return
    for line in preview_lines(found):
        typer.echo(line)
