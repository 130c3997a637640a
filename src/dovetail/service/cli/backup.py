"""`dovetail backup` and `dovetail restore`: a copy of a home, and a home from a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dovetail.service.cli.arguments import Home, home_at

Place = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the copy.")]


def backup(place: Place, home: Home = None) -> None:
    """Copy a home, with its log and the state of all applications. Running applications stop for the copy;
    the service restarts its own. On the same disk the copy consists of links."""
    from dovetail.service.backup import back_up
    from dovetail.service.units import size

    found = back_up(home_at(home), place)
    typer.echo(f"{len(found.files):,} files, {size(found.bytes)}")


def restore(place: Place, home: Home = None) -> None:
    """Make a home from a copy. The home must not exist yet."""
    from dovetail.service.backup import restore as restored
    from dovetail.service.units import size

    found = restored(place, home_at(home))
    typer.echo(f"{len(found.files):,} files, {size(found.bytes)}")
