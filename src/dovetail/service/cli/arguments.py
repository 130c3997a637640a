"""Arguments that several commands share: one name, one help sentence and one completion for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from dovetail.errors import DovetailError
from dovetail.service.settings import HOME


def home_at(given: str | None) -> str:
    """The home that a command works on, as an absolute place."""
    from dovetail.log.homes.filesystem import absolute_home

    return absolute_home(HOME.read(given))


def _applications(context: typer.Context, incomplete: str) -> list[str]:
    from dovetail.plan.application_file import list_applications

    return _names(context, incomplete, list_applications)


def _categories(context: typer.Context, incomplete: str) -> list[str]:
    from dovetail.log.category import list_categories

    return _names(context, incomplete, list_categories)


def _names(context: typer.Context, incomplete: str, listing: Callable[[str], list[str]]) -> list[str]:
    """Names that begin with what is typed. A home that cannot be read offers none."""
    try:
        found = listing(home_at(context.params.get("home")))
    except (DovetailError, OSError):
        return []
    return [name for name in found if name.startswith(incomplete)]


Home = Annotated[str | None, typer.Option("--home", envvar=HOME.variable, help=HOME.sentence)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Begins = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="INPUT=WHERE",
        help="Where to start reading an input whose source changed: earliest, latest, a commit number, or a "
        "time. Repeat it for several.",
    ),
]
Reslice = Annotated[
    bool,
    typer.Option(
        "--reslice",
        help="If columns or filters of an input change, begin the join afresh, filled from its inputs, "
        "instead of keeping rows that the old query made.",
    ),
]
Application = Annotated[
    str, typer.Argument(metavar="APP", help="Name of the application.", autocompletion=_applications)
]
OptionalApplication = Annotated[
    str | None,
    typer.Argument(
        metavar="[APP]",
        help="Name of the application. Without it, list all applications.",
        autocompletion=_applications,
        show_default=False,
    ),
]
CategoryName = Annotated[
    str, typer.Argument(metavar="CATEGORY", help="Name of the category.", autocompletion=_categories)
]
