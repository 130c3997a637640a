"""`dovetail check` and `dovetail plan`: what a PQL file means, without running it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from dovetail.errors import InputError
from dovetail.plan.dialect import deep_trees
from dovetail.plan.drawing.graph import graph_of
from dovetail.plan.drawing.svg import draw_svg
from dovetail.plan.drawing.text import draw_text
from dovetail.pql.check import check as check_text
from dovetail.pql.compile import compile_pql, trace
from dovetail.pql.render import render

PqlFile = Annotated[Path, typer.Argument(metavar="FILE", help="A PQL file, or - for standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def check(file: PqlFile, as_json: AsJson = False) -> None:
    """Find the mistakes in a PQL file without running it: all of them, each with its place and a way out."""
    report = check_text(read_pql(file), name=str(file))
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    elif report.ok and report.summary is not None:
        typer.echo("ok")
        for line in report.summary.lines():
            typer.echo(f"  {line}")
        for warning in report.warnings:
            typer.echo(f"warning: {warning}")
    else:
        for error in report.errors:
            typer.echo(f"error: {error}\n", err=True)
        count = len(report.errors)
        typer.echo(f"{count} error{'' if count == 1 else 's'} in {file}", err=True)
    if not report.ok:
        raise typer.Exit(1)


def plan(
    file: PqlFile,
    drawing: Annotated[
        Path | None, typer.Argument(metavar="[PATH.svg]", help="Where --draw puts the drawing.")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Print the rewritten PQL after each rule.")] = False,
    as_json: AsJson = False,
    draw: Annotated[
        bool, typer.Option("--draw", help="Draw the operator graph as an SVG: --draw [PATH.svg].")
    ] = False,
) -> None:
    """Show how a PQL file will be run: the operators, and the categories between them."""
    if drawing is not None and file.suffix == ".svg" and drawing.suffix != ".svg":
        file, drawing = drawing, file
    if drawing is not None and not draw:
        raise InputError(
            f"`{drawing}` is one argument too many",
            expected="one PQL file",
            hint=f"to draw into it: --draw {drawing}",
        )
    text = read_pql(file)
    made = compile_pql(text, name=str(file))
    steps = trace(text, name=str(file))
    if as_json:
        typer.echo(json.dumps(made.to_json(), indent=2))
    elif rules:
        for name, program in steps:
            typer.echo(f"-- {name} {'-' * (100 - len(name))}\n\n{render(program)}")
    with deep_trees():
        graph = graph_of(steps[-1][1], made)
    if draw:
        target = drawing or Path(f"{made.application}.svg")
        _write(target, draw_svg(graph))
        typer.echo(f"drawn: {target}", err=as_json)
    elif not as_json and not rules:
        typer.echo(draw_text(graph))
    if not as_json:
        for warning in made.warnings:
            typer.echo(f"warning: {warning}", err=True)


def read_pql(file: Path) -> str:
    """The text of a PQL file, or an error that says why there is none."""
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = sorted(str(path) for path in Path(file.parent).glob("*.pql")) if file.parent.is_dir() else []
        raise InputError(
            f"there is no file {file}", hint=f"there are {', '.join(near[:8])}" if near else None
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not text in UTF-8", where=f"byte {error.start}") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
