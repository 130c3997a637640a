"""A view that one aggregate or join alone has read, and others read now.

    before    join v ─► category app.sums.rows ─► aggregate sums
    after     join v ─► category app.v ─► slicer sums.rows ─► category app.sums.rows ─► aggregate sums
                                     └─► the new table

Law: the slicer goes on where the join has stopped, because the new category begins with the change. So the
aggregate finds each row once, and the rules compare what the join wrote with what join and slicer write now.
Its promises go on as well: see `changes/heirs.py`."""

from __future__ import annotations

from dovetail.changes.between import writer_of
from dovetail.plan.build import read_categories, written_category
from dovetail.plan.fuse_chains import in_one
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, ScribeSource, SlicerStage, Stage


def goes_on(plan: Plan, old: Stage, new: Stage) -> Stage:
    """The new stage, as the old one is compared with: a join together with the slicer that goes on writing
    what the join wrote."""
    was = old.output
    if (
        not isinstance(old, JoinStage)
        or not isinstance(new, JoinStage)
        or not isinstance(was, CategoryOutput)
    ):
        return new
    if was.time is None or was.category == getattr(new.output, "category", None):
        return new
    slicer = writer_of(plan, was.category)
    if not isinstance(slicer, SlicerStage) or join_below(plan, slicer) != new:
        return new
    readers = [stage for stage in plan.stages if written_category(new) in read_categories(stage)]
    return in_one(new, slicer) if len(readers) > 1 else new  # with one reader another plan stores nothing


def whole_writer(plan: Plan, category: str) -> Stage | None:
    """The stage that a category comes from, with the join that this slices."""
    writer = writer_of(plan, category)
    below = join_below(plan, writer) if isinstance(writer, SlicerStage) else None
    return writer if below is None or not isinstance(writer, SlicerStage) else in_one(below, writer)


def join_below(plan: Plan, slicer: SlicerStage) -> JoinStage | None:
    """The join whose rows are all that a slicer reads."""
    plain = len(slicer.inputs) == 1 and slicer.lookup is None
    source = slicer.inputs[0].source if plain else None
    found = writer_of(plan, source.category) if isinstance(source, ScribeSource) else None
    return found if isinstance(found, JoinStage) else None
