"""The configuration of a join or an aggregate, from the plan and the place it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from dovetail.connectors.lookup_table import LIMIT, REFRESH
from dovetail.model.join_config import Feed, JoinConfig, OutputColumn, state_path
from dovetail.model.share import Side
from dovetail.model.window_config import WindowConfig
from dovetail.plan.physical import (
    CategoryOutput,
    JoinColumn,
    JoinStage,
    Lookup,
    Plan,
    ScribeSource,
    WindowStage,
    filed_under,
)

if TYPE_CHECKING:
    from dovetail.lookup.held_table import Broadcast


def join_config(
    plan: Plan,
    stage: JoinStage,
    home: str,
    *,
    tasks: int,
    index_dir: str | None = None,
    drain: bool = False,
    gate: str | None = None,
) -> JoinConfig:
    """The configuration of one join of a plan; `tasks` where the plan does not say."""
    sliced = _side(plan, stage.left)
    return JoinConfig(
        home=home,
        application=plan.application,
        join=stage.name,
        left=stage.left,
        right=stage.right,
        keys=sliced.keys,
        join_kind=stage.join_kind,
        columns=tuple(OutputColumn(column.name, _side_of(column), column.source) for column in stage.columns),
        buckets=sliced.buckets,
        tasks=min(stage.settings.tasks or tasks, stage.join_kind.most_tasks(sliced.buckets)),
        settings=stage.settings,
        index_dir=index_dir,
        drain=drain,
        gate=gate,
        feeds=tuple(_feeds(plan, stage)),
        query=stage.query,
        begun=stage.begun,
        filled=stage.filled,
        whole=stage.whole,
    )


def _feeds(plan: Plan, stage: JoinStage) -> Iterator[Feed]:
    """The joins that read a join's output: as it is sliced by the join itself, or behind a slicer."""
    output = stage.output
    if not isinstance(output, CategoryOutput):
        return
    yield from _feeds_of(plan, None, None, output.category)
    for slicer in plan.slicers:
        reads = {table.source.category for table in slicer.inputs if isinstance(table.source, ScribeSource)}
        if output.category not in reads or not isinstance(slicer.output, CategoryOutput):
            continue
        producer = f"{plan.application}.{slicer.name}"
        yield from _feeds_of(plan, output.category, producer, slicer.output.category)


def _feeds_of(plan: Plan, output: str | None, slicer: str | None, sliced: str) -> Iterator[Feed]:
    """For each join that has a category as one of its sides."""
    for join in plan.joins:
        sides: list[tuple[Side, str]] = [("left", join.left), ("right", join.right)]
        state, paced = state_path(plan.application, filed_under(join)), join.settings.pacing is not None
        for side, category in sides:
            if category == sliced:
                yield Feed(output, slicer, category, side, state, paced)


def window_config(
    plan: Plan, stage: WindowStage, home: str, *, tasks: int, drain: bool = False, gate: str | None = None
) -> WindowConfig:
    """The configuration of one aggregate of a plan."""
    return WindowConfig(
        home=home,
        application=plan.application,
        stage=stage.name,
        rows=stage.rows,
        late=stage.late,
        window=stage.window,
        settings=stage.settings,
        keys=stage.keys,
        columns=tuple(column.name for column in stage.columns),
        tasks=tasks,
        drain=drain,
        gate=gate,
    )


def _side_of(column: JoinColumn) -> Literal["left", "right", "window"]:
    if column.side == "window":
        return "window"
    return "left" if column.side == "left" else "right"


def _side(plan: Plan, category: str) -> CategoryOutput:
    outputs = [stage.output for stage in plan.stages]
    return next(
        output for output in outputs if isinstance(output, CategoryOutput) and output.category == category
    )


def broadcast_of(lookup: Lookup) -> Broadcast:
    """How a lookup table is held in memory."""
    from dovetail.lookup.held_table import Broadcast  # it has kernels, which nobody needs who only plans

    types = {column.name: str(column.type) for column in lookup.columns}
    source = lookup.source
    return Broadcast(lookup.table, lookup.spec, types, source.get(REFRESH.name), source.get(LIMIT.name))
