"""The plan of a query as an SVG for a page."""

from __future__ import annotations

from dovetail.plan.dialect import deep_trees
from dovetail.plan.drawing.graph import graph_of
from dovetail.plan.drawing.svg import draw_svg
from dovetail.plan.statements import Program
from dovetail.pql.compile import compile_program, trace_program
from dovetail.spark.inputs import seen_sources


def draw_plan(program: Program, home: str) -> str:
    types = seen_sources(program, home).types
    made, steps = compile_program(program, types), trace_program(program, types)
    with deep_trees():
        return draw_svg(graph_of(steps[-1][1], made))
