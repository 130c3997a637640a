"""The graph of a running application with its figures: rates, backlog, stream times, and who waits for whom.

The boxes are those of the plan (`plan/drawing`), with what is measured in place of what is configured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from dovetail.plan.drawing.graph import PlanGraph, graph_of
from dovetail.plan.drawing.svg import draw_svg
from dovetail.plan.physical import Plan
from dovetail.service import units

OTHER = {"left": "right", "right": "left"}
WAITS = 0.01
"""Share of the time: less than that is no waiting."""


def draw_live(home: str, application: str, figures: dict[str, Any] | None) -> str | None:
    """None: the plan cannot be drawn, or it was never run."""
    from dovetail.plan.application_file import read_current

    current = read_current(home, application)
    found = _graph(home, application, current.version)
    return None if found is None else draw_svg(with_figures(found, current.plan, figures))


def with_figures(graph: PlanGraph, plan: Plan, figures: dict[str, Any] | None) -> PlanGraph:
    measured = {join["name"]: join for join in (figures or {}).get("joins", [])}
    said: dict[str, tuple[str, ...]] = {}
    for stage in plan.joins:
        join = measured.get(stage.name)
        if join is not None:
            said[f"join {stage.name}"] = tuple(_join_lines(join))
            for side, category in (("left", stage.left), ("right", stage.right)):
                said[f"category {category}"] = tuple(_stream_lines(join, side))
    nodes = {name: replace(node, lines=said.get(name, ())) for name, node in graph.nodes.items()}
    return replace(graph, nodes=nodes)


def _stream_lines(join: dict[str, Any], side: str) -> list[str]:
    stream = join[side]
    rows = stream.get("backlog_rows") or 0
    lines = [
        f"rate     {units.count(round(stream.get('rows_per_s') or 0))} rows/s",
        f"backlog  {units.count(rows)} rows, {units.span(stream.get('backlog_us'))}",
        f"time     {units.instant(stream.get('time_us'))}",
    ]
    paused = stream.get("paused_share") or 0.0
    return [*lines, f"waits    for {OTHER[side]}, {units.share(paused)}"] if paused > WAITS else lines


def _join_lines(join: dict[str, Any]) -> list[str]:
    held = sum((join[side].get("held_rows") or 0) for side in OTHER)
    lines = [
        f"match    {units.share(join.get('match_rate'))}",
        f"pairs    {units.count(join.get('totals', {}).get('pairs', 0))}",
        f"holds    {units.count(held)} rows, {units.size(join.get('totals', {}).get('index_bytes', 0))}",
    ]
    return [*lines, f"waits    {join['waiting']}"] if join.get("waiting") else lines


@lru_cache(maxsize=64)
def _graph(home: str, application: str, version: int) -> PlanGraph | None:
    """Kept: a version never changes, and pages ask every other second."""
    from dovetail.changes.takeover import program_of
    from dovetail.plan.dialect import deep_trees
    from dovetail.pql.compile import compile_program, trace_program
    from dovetail.spark.inputs import seen_sources

    program = program_of(home, application, version)
    if program is None:
        return None
    types = seen_sources(program, home).types
    with deep_trees():
        return graph_of(trace_program(program, types)[-1][1], compile_program(program, types))
