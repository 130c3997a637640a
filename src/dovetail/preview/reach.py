"""How far back two versions can be run, and from which event time on what comes out is exact.

The log has lost its oldest rows. A left row may lack partners if some of what is lost could be one of them.
From the newest event time that is lost, and the bounds of the joins, follows an event time from which on
nothing is missing: of a chain, join by join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.engine.step_log import read_records, unbroken
from dovetail.errors import PreviewError
from dovetail.log.category import Category
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.step_record import SideRecord, StepRecord
from dovetail.plan.build import written_category
from dovetail.plan.configure import join_config
from dovetail.plan.physical import JoinStage, Plan, ScribeSource, SlicerStage, Stage

SIDES = ("left", "right")


@dataclass(frozen=True)
class Recorded:
    """The steps of a join that can be run again, oldest first. `before`: the step before them. `first`: of
    each side, the first commit that is there. `lost_us`: the newest event time of a row that is not; NEVER if
    none is lost."""

    steps: tuple[StepRecord, ...]
    before: StepRecord | None
    first: tuple[int, int]
    lost_us: tuple[int, int]


def recorded(home: str, plan: Plan, join: JoinStage) -> Recorded:
    """What is on record of a join, as far back as both the records and the log reach."""
    config = join_config(plan, join, home, tasks=1)
    records = unbroken(read_records(config))
    if not records:
        raise PreviewError(
            f"join {join.name} has no recorded step",
            where=home,
            expected="an application that has run",
            hint="start it with `dovetail run`, and look again when rows have come out",
        )
    first = [Category.open(home, name).first_commit() for name in (join.left, join.right)]
    begins = [side.start for side in (records[0].left, records[0].right)]
    kept = max(first[0], begins[0]), max(first[1], begins[1])
    at = next((n for n, one in enumerate(records) if _has_rows(one, kept)), len(records) - 1)
    lost = tuple(
        _lost(Category.open(home, name), kept[number], [getattr(one, SIDES[number]) for one in records])
        for number, name in enumerate((join.left, join.right))
    )
    before = records[at - 1] if at else None
    return Recorded(tuple(records[at:]), before, kept, (lost[0], lost[1]))


def newest_us(steps: Sequence[StepRecord]) -> int:
    """How far stream time has come; NEVER if no row had a time."""
    times = [one.time_us for step in steps for side in (step.left, step.right) for one in side.taken]
    return max((time_us for time_us in times if time_us not in (NEVER, ENDED)), default=NEVER)


def exact_from(plan: Plan, known: dict[str, Recorded], join: JoinStage) -> int:
    """Rows of the result that belong to a row of this event time, or a later one, lack nothing."""
    from_us = [_side_from(plan, known, join, number) for number in range(2)]
    if from_us == [NEVER, NEVER]:
        return NEVER
    apart = join.join_kind.apart
    if apart is None:
        raise PreviewError(
            f"join {join.name} has no bounds of event time, and the log has lost some of its rows",
            expected="a log that reaches back to the first row: what is lost could be a partner of any row",
            hint="set history in the WITH of the view to keep more, and start the application in a new home",
        )
    reach = [from_us[0], _later(from_us[1], apart.before_us)]
    if join.spec.keeps_right:  # a lone right row looks for a left one
        reach += [from_us[1], _later(from_us[0], apart.after_us)]
    return max(reach)


def base_slicer(plan: Plan, category: str) -> SlicerStage | None:
    """The stage that slices a side from an input of the application; None if a join makes its rows."""
    stage = _writer(plan, category)
    own = {written_category(one) for one in plan.stages}
    if not isinstance(stage, SlicerStage):
        return None
    sources = [table.source for table in stage.inputs]
    return None if any(isinstance(s, ScribeSource) and s.category in own for s in sources) else stage


def _side_from(plan: Plan, known: dict[str, Recorded], join: JoinStage, number: int) -> int:
    category = (join.left, join.right)[number]
    if base_slicer(plan, category) is not None:
        recorded_ = known.get(join.name)
        return NEVER if recorded_ is None else recorded_.lost_us[number]
    above = _join_behind(plan, category)
    if above is None:
        return NEVER
    apart = above.join_kind.apart
    # Its rows have the time of a left or of a right row, which are at most this far apart.
    far = 0 if apart is None else max(0, apart.before_us) + max(0, apart.after_us)
    return _later(exact_from(plan, known, above), far)


def _join_behind(plan: Plan, category: str) -> JoinStage | None:
    stage = _writer(plan, category)
    if isinstance(stage, SlicerStage):
        for table in stage.inputs:
            if isinstance(table.source, ScribeSource):
                return _join_behind(plan, table.source.category)
    return stage if isinstance(stage, JoinStage) else None


def _writer(plan: Plan, category: str) -> Stage | None:
    return next((stage for stage in plan.stages if written_category(stage) == category), None)


def _later(time_us: int, more_us: int) -> int:
    return NEVER if time_us == NEVER else time_us + more_us


def _has_rows(record: StepRecord, first: tuple[int, int]) -> bool:
    """Some of what the step took is there."""
    return record.left.stop > first[0] or record.right.stop > first[1]


def _lost(category: Category, first: int, steps: Sequence[SideRecord]) -> int:
    if first == 0:
        return NEVER
    found = [one.newest_us for step in steps for one in step.taken if one.commit < first]
    # Older records are gone as well. What came before them was, as far as rows come in order, no newer than
    # the first commit that is there.
    if first < category.next_commit() and first >= category.first_commit():
        sketch = category.commit(first).sketch
        found += [sketch.max_us] if sketch.count and not found else []
    return max((time_us for time_us in found if time_us is not None), default=NEVER)
