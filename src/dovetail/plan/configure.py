"""The configuration of a join operator, from the plan and the place it runs in."""

from __future__ import annotations

from typing import Literal

from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.plan.physical import CategoryOutput, JoinColumn, JoinStage, Plan


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
