"""A join that one other stage reads slices its rows for that stage itself.

    join a -> category app.a -> slicer b.left -> category app.b.left -> join b
    join a -> category app.b.left -> join b

Law: the categories that are left have the same rows, and the same promises about them. A chain then has one
query and one copy of the rows less for each of its joins but the last, and a row waits for one micro-batch
less. A join with several readers keeps a category of its own: each of them slices it in another way.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dovetail.plan.build import read_categories
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, Relation, SlicerStage, Stage
from dovetail.plan.promises import with_promises


def fuse_chains(plan: Plan, apart: Collection[str] = ()) -> Plan:
    """`apart`: joins that keep a category of their own."""
    fused: dict[str, JoinStage] = {}
    gone: set[str] = set()
    for join in plan.joins:
        slicer = _only_slicer(plan, join) if join.name not in apart else None
        if slicer is not None:
            fused[join.name] = in_one(join, slicer)
            gone.add(slicer.name)
    if not fused:
        return plan
    stages: list[Stage] = [
        fused.get(stage.name, stage) if isinstance(stage, JoinStage) else stage
        for stage in plan.stages
        if stage.name not in gone
    ]
    return with_promises(replace(plan, stages=tuple(stages)))


def _only_slicer(plan: Plan, join: JoinStage) -> SlicerStage | None:
    """The stage that slices a join's rows for what comes next, if nobody else reads them, and it reads
    nothing else."""
    output = join.output
    if not isinstance(output, CategoryOutput) or output.time is not None:
        return None
    readers = [stage for stage in plan.stages if output.category in read_categories(stage)]
    reader = readers[0] if len(readers) == 1 else None
    if not isinstance(reader, SlicerStage):
        return None
    sliced = isinstance(reader.output, CategoryOutput) and reader.output.time is not None
    return reader if sliced and len(reader.inputs) == 1 else None


def in_one(join: JoinStage, slicer: SlicerStage) -> JoinStage:
    """The join that writes what the slicer makes of its rows."""
    rows = Relation(slicer.inputs[0].name, join.select)
    return replace(join, views=(*join.views, rows, *slicer.views), select=slicer.select, output=slicer.output)
