"""Where the sources of a new query begin, written down before it counts: until then nobody looks at it.

another source             where it was said, or where it was left if the stage has had it before
a join that begins afresh  its inputs go on where the old slicers have stopped to read them; it is filled
                           with what came before (`filling.py`)
"""

from __future__ import annotations

from dovetail.changes.positions import Position, begin_at, key_of
from dovetail.changes.rules.sources import same_inputs, swapped
from dovetail.changes.takeover import Takeover
from dovetail.log.category import Category, list_categories
from dovetail.plan.physical import (
    CategoryOutput,
    Plan,
    ScribeSink,
    ScribeSource,
    SlicerStage,
    Source,
    filed_under,
)
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.readings import Reading, left_before, write_reading
from dovetail.slicing.standing import CommitsRead, Standing
from dovetail.spark.batch_files import last_planned
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.standings import standing_of

EARLIEST = Position("earliest")


def note_readings(takeover: Takeover) -> None:
    assert takeover.before is not None
    old, home = takeover.before.plan, takeover.home
    before = {stage.name: stage for stage in old.slicers}
    for stage in takeover.plan.slicers:
        known = before.get(stage.name)
        if stage.reading == (known.reading if known is not None else 1):
            continue
        begins = _begins(takeover, old, stage)
        _note(home, old.application, stage, begins)
        if known is not None:
            _note(home, old.application, known, standing_before(home, old.application, known))
        if isinstance(begins, CommitsRead) and begins.category in list_categories(
            home
        ):  # what it needs must not go before it is started
            producer = Slicer(old.application, stage.name, "").producer
            source = Category.open(home, begins.category)
            source.set_reader(producer, begins.commit, application=old.application)


def _begins(takeover: Takeover, old: Plan, stage: SlicerStage) -> Standing:
    home, application = takeover.home, old.application
    table = stage.inputs[0]
    known = next((one for one in old.slicers if one.name == stage.name), None)
    if known is not None and any(swapped(application, *pair) for pair in same_inputs(known, stage)):
        position = takeover.positions.get(table.name.lower())
        left = left_before(home, application, stage.name, key_of(table.source), known.reading)
        if position is None and left is not None:
            return left.standing
        if isinstance(table.source, ScribeSource) and table.source.category not in list_categories(home):
            return CommitsRead(table.source.category, 0)  # of a topic that is about to be taken in
        return begin_at(home, table.source, position or EARLIEST)
    category = stage.output.category if isinstance(stage.output, CategoryOutput) else ""
    join = next((join for join in takeover.plan.joins if category in (join.left, join.right)), None)
    if join is None:
        return begin_at(home, table.source, EARLIEST)
    was = next(one for one in old.joins if one.name == join.name)
    side = was.left if category == join.left else was.right
    writer = next(s for s in old.slicers if getattr(s.output, "category", None) == side)
    if last_planned(Checkpoint(home, application, filed_under(was))) < 0:
        return begin_at(home, table.source, EARLIEST)  # nothing has come out: it takes everything itself
    return standing_before(home, application, writer)


def standing_before(home: str, application: str, stage: SlicerStage) -> Standing:
    """How far a stage of the old query has come."""
    output, category = stage.output, None
    if isinstance(output, CategoryOutput | ScribeSink):
        category = Category.open(home, output.category)
    checkpoint = Checkpoint(home, application, filed_under(stage))
    found = standing_of(checkpoint, category, Slicer(application, stage.name, "", stage.reading))
    return found or begin_at(home, _source(stage), EARLIEST)


def _note(home: str, application: str, stage: SlicerStage, standing: Standing) -> None:
    source = key_of(_source(stage))
    write_reading(home, Reading(application, stage.name, stage.reading, source, standing))


def _source(stage: SlicerStage) -> Source:
    return stage.inputs[0].source
