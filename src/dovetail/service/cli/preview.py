"""`dovetail preview new.pql`: which rows another query would have produced."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dovetail.errors import SettingError
from dovetail.service.cli.arguments import AsJson, Home, Reslice, home_at
from dovetail.service.cli.pql_file import PqlFile, read_pql


def preview(
    file: PqlFile,
    *,
    since: Annotated[
        str | None,
        typer.Option(
            help="How far back to look, in event time: '2 hours'. Default: as far as the log reaches."
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Show this many rows of each difference.")] = 3,
    reslice: Reslice = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Run an application's query and another one over the rows in the log, and show which rows would be
    gained, lost and changed. The running application is not touched."""
    from dovetail.changes.words import verdict_words
    from dovetail.preview.preview import preview as compared
    from dovetail.service.proposal import proposal
    from dovetail.service.words.preview_words import preview_lines

    place = home_at(home)
    proposed = proposal(place, read_pql(file), str(file), reslice=reslice)
    found = compared(place, proposed.current.plan, proposed.plan, length_us(since), samples)
    if as_json:
        said = {
            "application": proposed.plan.application,
            "version": proposed.current.version,
            "changes": [change.to_json() for change in proposed.changes],
            **found.to_json(),
        }
        typer.echo(json.dumps(said, indent=2, default=str))
        return
    version = f"{proposed.plan.application}, version {proposed.current.version}"
    typer.echo(f"{version}, with {file}: {verdict_words(proposed.changes)}")
    for line in preview_lines(found):
        typer.echo(line)


def length_us(text: str | None) -> int | None:
    """A length of time as people write it."""
    from dovetail.plan.interval_literal import NotAnInterval, text_us

    try:
        length = None if text is None else text_us(text)
    except NotAnInterval as error:
        raise SettingError(f"{error}", expected="a length of time such as '2 hours'") from None
    if length is not None and length <= 0:
        raise SettingError(
            f"--since: {text} is not a length of time", expected="a length of time such as '2 hours'"
        )
    return length
