"""`dovetail settings` and `dovetail version`: which release this is, and its settings."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import dovetail
from dovetail.service.settings import INDEX_DIR, SETTINGS, index_dir, to_markdown


def settings(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print every setting with its variable, its value here and its default."""
    here = {s.name: s.read() for s in SETTINGS} | {INDEX_DIR.name: index_dir()}
    if markdown:
        print(to_markdown(), end="")
        return
    if as_json:
        print(json.dumps(here))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "variable", "here", "what it does"):
        table.add_column(heading, header_style="dim")
    for setting in SETTINGS:
        table.add_row(setting.name, setting.variable, here[setting.name] or "off", setting.sentence)
    Console().print(table)


def version() -> None:
    """Print the version."""
    print(f"dovetail {dovetail.__version__}")
