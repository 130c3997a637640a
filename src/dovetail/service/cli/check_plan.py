"""`dovetail check` and `dovetail plan`: what a PQL file means, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dovetail.errors import InputError
from dovetail.plan.dialect import deep_trees
from dovetail.plan.drawing.graph import graph_of
from dovetail.plan.drawing.svg import draw_svg
from dovetail.plan.drawing.text import draw_text
from dovetail.pql.check import check as check_text
from dovetail.pql.compile import compile_program, trace_program
from dovetail.pql.parser import parse, parse_all
from dovetail.pql.render import render
from dovetail.service.cli.arguments import AsJson, Home, home_at
from dovetail.service.cli.pql_file import PqlFile, read_pql


def check(file: PqlFile, home: Home = None, as_json: AsJson = False) -> None:
    """Find all mistakes in a PQL file without running it, and say how to correct them. Inputs that can be
    reached from this machine are compared with their declarations."""
    from dovetail.spark.inputs import seen_sources

    text = read_pql(file)
    seen = seen_sources(parse_all(text, name=str(file)).program, home_at(home))
    report = check_text(text, name=str(file), source_schemas=seen.types).with_findings(
        seen.errors, seen.warnings
    )
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
        Path | None, typer.Argument(metavar="[PATH.svg]", help="File that --draw writes.")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Print the rewritten PQL after each rule.")] = False,
    home: Home = None,
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
            f"unexpected argument `{drawing}`",
            expected="one PQL file",
            hint=f"to draw the plan into this file: --draw {drawing}",
        )
    from dovetail.spark.inputs import seen_sources

    program = parse(read_pql(file), name=str(file))
    types = seen_sources(program, home_at(home)).types
    made = compile_program(program, types)
    steps = trace_program(program, types)
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
        typer.echo(f"plan drawn to {target}", err=as_json)
    elif not as_json and not rules:
        typer.echo(draw_text(graph))
    if not as_json:
        for warning in made.warnings:
            typer.echo(f"warning: {warning}", err=True)


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
