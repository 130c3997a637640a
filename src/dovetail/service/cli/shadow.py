"""`dovetail deploy new.pql [--shadow]` and `dovetail shadow APP`: try another query beside the running one,
then promote it or drop it."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.errors import DovetailError, SettingError, StateError
from dovetail.service.cli.arguments import Application, AsJson, Begins, Home, Reslice, home_at
from dovetail.service.cli.pql_file import PqlFile, read_pql
from dovetail.service.cli.stop_signals import stopped_by_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dovetail.preview.shadow import Shadow
    from dovetail.preview.shadow_files import Progress, ShadowFile
    from dovetail.service.proposal import Proposal

LOOK_S = 1.0
DROPPED_S = 30.0
"""How long a process that follows may take to see that its shadow was dropped."""

AvailableNow = Annotated[
    bool, typer.Option("--available-now", help="Process the available input, then stop.")
]
Master = Annotated[str | None, typer.Option(help="Where Spark runs.")]


def deploy(
    file: PqlFile,
    *,
    shadow: Annotated[
        bool,
        typer.Option(
            "--shadow", help="Follow the running application, compare, and change nothing: see `shadow`."
        ),
    ] = False,
    available_now: AvailableNow = False,
    begins: Begins = None,
    reslice: Reslice = False,
    home: Home = None,
    master: Master = None,
) -> None:
    """Change the query of an application, as `run` does. With --shadow, only try the query: it follows the
    steps of the running application, in a process of its own, until you stop it."""
    place, text = home_at(home), read_pql(file)
    proposed = _proposed(place, text, str(file), begins or (), reslice)
    if shadow:
        _follow(place, text, proposed, available_now)
        return
    # Which version the query was made from, `run` finds by its file.
    _run(
        *(place, text, str(file), None, available_now, master),
        begins=begins or (),
        reslice=reslice,
        origin=file,
    )


def shadow(
    application: Application,
    *,
    promote: Annotated[
        bool, typer.Option("--promote", help="Change the application to the shadow's query.")
    ] = False,
    drop: Annotated[bool, typer.Option("--drop", help="End the shadow, and remove what it wrote.")] = False,
    available_now: AvailableNow = False,
    reslice: Reslice = False,
    home: Home = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Show how the rows of a shadow compare with those of its application; promote it, or drop it."""
    from dovetail.preview.shadow_files import read_progress, read_shadow

    if promote and drop:
        raise SettingError("--promote and --drop cannot be combined")
    place = home_at(home)
    if drop:
        _drop(place, application)
        typer.echo(f"the shadow of {application} is gone")
        return
    found = read_shadow(place, application)
    if not promote:
        _show(found, read_progress(place, application), as_json)
        return
    proposed = _proposed(place, found.text, f"shadow of {application}", reslice=reslice)
    if proposed.current.version != found.version:
        raise StateError(
            f"application {application} is now at version {proposed.current.version}",
            where=place,
            expected=f"version {found.version}, which the shadow has followed",
            hint=f"`dovetail shadow {application} --drop`, and start another",
        )
    _drop(place, application)
    name = f"shadow of {application}"
    _run(place, found.text, name, found.version, available_now, master, reslice=reslice)


def _proposed(home: str, text: str, name: str, begins: Sequence[str] = (), reslice: bool = False) -> Proposal:
    """Refused as `run` refuses it."""
    from dovetail.changes.positions import positions_in
    from dovetail.changes.takeover import Takeover, require
    from dovetail.service.proposal import proposal

    made = proposal(home, text, name, positions=positions_in(begins), reslice=reslice)
    require(Takeover(home, made.plan, text, made.current, tuple(made.changes)))
    return made


def _run(
    home: str,
    text: str,
    name: str,
    parent: int | None,
    available_now: bool,
    master: str | None,
    *,
    begins: Sequence[str] = (),
    reslice: bool = False,
    origin: Path | None = None,
) -> None:
    from dovetail.service.cli.run import run_and_watch
    from dovetail.service.settings import MASTER

    run_and_watch(
        (text, name),
        home=home,
        master=MASTER.read(master),
        mode="available-now" if available_now else "stream",
        parent=parent,
        begins=begins,
        reslice=reslice,
        origin=origin,
    )


def _follow(home: str, text: str, proposed: Proposal, available_now: bool) -> None:
    from dovetail.engine.hold import running
    from dovetail.preview.shadow import Shadow, drop_shadow
    from dovetail.preview.shadow_files import is_there, shadow_of

    plan, current = proposed.plan, proposed.current
    with running(home, shadow_of(plan.application)):
        begins = not is_there(home, plan.application)
        found = _begun(home, text, proposed)
        with tempfile.TemporaryDirectory(prefix="dovetail-shadow-") as work, stopped_by_signals() as stop:
            try:
                one = Shadow(home, work, current.plan, plan, current.version)
            except DovetailError:
                if begins:
                    drop_shadow(home, plan.application)  # nothing is left of one that cannot be
                raise
            try:
                _watch(one, stop, available_now)
            finally:
                one.close()
    _show(found, one.progress, as_json=False)


def _begun(home: str, text: str, proposed: Proposal) -> ShadowFile:
    """The existing shadow, if it is this one; otherwise it begins now."""
    from dovetail.changes.takeover import author
    from dovetail.preview.shadow import drop_shadow
    from dovetail.preview.shadow_files import ShadowFile, is_ended, is_there, read_shadow

    application, version = proposed.plan.application, proposed.current.version
    if is_ended(home, application):
        drop_shadow(home, application)  # the process that dropped it was killed before it was done
    if not is_there(home, application):
        made = ShadowFile(application, version, text, author(), time.time_ns() // 1000)
        made.write(home)
        return made
    found = read_shadow(home, application)
    if (found.text, found.version) != (text, version):
        raise StateError(
            f"application {application} has a shadow already, of another query or version",
            where=home,
            expected="one shadow at a time",
            hint=f"`dovetail shadow {application}` shows it, --drop removes it",
        )
    return found


def _watch(one: Shadow, stop: threading.Event, available_now: bool) -> None:
    from dovetail.service.units import count

    said = None
    while not stop.is_set():
        more = one.follow()
        now = one.progress
        if now.tables and now.batch != said:
            said = now.batch
            for name, found in now.tables.items():
                typer.echo(
                    f"{name}: {count(found.equal)} equal, {count(found.gained)} gained, "
                    f"{count(found.lost)} lost, {count(found.changed)} changed",
                    err=True,
                )
        if available_now and not more:
            return
        if not more:
            stop.wait(LOOK_S)


def _show(found: ShadowFile, progress: Progress | None, as_json: bool) -> None:
    from dovetail.service.units import instant
    from dovetail.service.words.preview_words import difference_lines

    if as_json:
        from dataclasses import asdict

        said = {**asdict(found), "progress": None if progress is None else asdict(progress)}
        typer.echo(json.dumps(said, indent=2, default=str))
        return
    typer.echo(
        f"shadow of {found.application}, version {found.version}, by {found.author} since "
        f"{instant(found.made_at_us)}"
    )
    if progress is None or not progress.tables:
        typer.echo("nothing compared yet: rows count when their windows are over in both versions")
    if progress is None:
        return
    typer.echo(f"rows from {instant(progress.since_us)} on, looked at {instant(progress.written_at_us)}")
    for join, at in progress.at.items():
        typer.echo(f"join {join}: up to step {at.step}, event times up to {instant(at.until_us)}")
    for name, difference in progress.tables.items():
        typer.echo(f"table {name}")
        for line in difference_lines(difference):
            typer.echo(line)
    for note in progress.notes:
        typer.echo(f"not compared: {note}")


def _drop(home: str, application: str) -> None:
    from dovetail.engine.hold import running
    from dovetail.plan.application_file import read_current
    from dovetail.preview.shadow import drop_shadow, end_shadow
    from dovetail.preview.shadow_files import is_there, shadow_of

    if not is_there(home, application):
        read_current(home, application)
        raise StateError(
            f"application {application} has no shadow", where=home, hint="there is nothing to drop"
        )
    end_shadow(home, application)
    try:
        with running(home, shadow_of(application), wait_s=DROPPED_S):
            drop_shadow(home, application)
    except StateError as error:
        raise StateError(
            f"a process still follows {application}",
            where=error.where,
            expected="a process that ends when its shadow is dropped",
            hint="stop it, and drop the shadow again",
        ) from error
