"""The old query comes to rest before a new one takes over.

Law: after this, every batch that was planned is done, by the query that planned it, and nothing that one
stage has put out waits for a stage that goes away. So a version begins exactly between two batches of each
stage, and a kill anywhere in between only means that the same is done again."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from dovetail.changes.positions import Position, begin_at, key_of
from dovetail.changes.takeover import Takeover
from dovetail.log.category import Category
from dovetail.model.offset import JoinOffset
from dovetail.plan.physical import Plan, ScribeSource, SlicerStage, Stage, WindowStage, filed_under
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.readings import Reading, left_before, write_reading
from dovetail.slicing.standing import CommitsRead
from dovetail.spark.batch_files import last_done, last_planned, offsets_done
from dovetail.spark.building import Builder, BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.clean_stop import copy_snapshots
from dovetail.spark.failures import failure_of
from dovetail.spark.standings import standing_of
from dovetail.spark.starting import Failures, Mode, start


def settle(spark: SparkSession, takeover: Takeover, index_dir: str | None) -> dict[str, int]:
    """Let the old query finish what it has begun; gives the last step of each of its joins. A new query
    that Spark refuses is refused before anything is done."""
    assert takeover.before is not None
    old, new, home = takeover.before.plan, takeover.plan, takeover.home
    _builder(spark, new, home, index_dir).build()
    leaving = _leaving(old, new)
    begun = {
        stage.name
        for stage in old.stages
        if _unfinished(Checkpoint(home, old.application, filed_under(stage)))
    }
    if begun or leaving:
        stages = _builder(spark, old, home, index_dir).build()
        _run([s for s in stages if s.name in begun and s.resident is None], home, old.application, "once")
        # In the order of the plan: what one of them puts out is there when the next one starts.
        for stage in stages:
            if stage.name in leaving and stage.resident is None:
                _run([stage], home, old.application, "available-now")
        copy_snapshots(spark, [stage.join for stage in stages if stage.join is not None])
    for now in new.slicers:
        note_reading(takeover, now)
    return {join.name: step for join in old.joins if (step := _last_step(home, old, join.name)) is not None}


def note_reading(takeover: Takeover, stage: SlicerStage) -> None:
    """Write down where a new source of a stage begins, and where its old one was left. Until the change
    counts nobody looks at it."""
    assert takeover.before is not None
    home, application = takeover.home, takeover.plan.application
    before = {old.name: old for old in takeover.before.plan.slicers}.get(stage.name)
    if before is None or before.reading == stage.reading:
        return
    was, now = before.inputs[0].source, stage.inputs[0].source
    slicer = Slicer(application, stage.name, "", before.reading)
    category = getattr(before.output, "category", None)
    left = standing_of(
        Checkpoint(home, application, filed_under(before)),
        Category.open(home, category) if category is not None else None,
        slicer,
    )
    position = takeover.positions.get(stage.inputs[0].name.lower())
    known = left_before(home, application, stage.name, key_of(now), before.reading)
    if position is not None or known is None:
        begins = begin_at(home, now, position or Position("earliest"))
    else:
        begins = known.standing
    left = left or begin_at(home, was, Position("earliest"))
    write_reading(home, Reading(application, stage.name, stage.reading, key_of(now), begins))
    write_reading(home, Reading(application, stage.name, before.reading, key_of(was), left))
    if isinstance(begins, CommitsRead):  # what it needs must not go before it is started
        Category.open(home, begins.category).set_reader(
            slicer.producer, begins.commit, application=application
        )


def _builder(spark: SparkSession, plan: Plan, home: str, index_dir: str | None) -> Builder:
    return Builder(spark, plan, home, spark.sparkContext.defaultParallelism, index_dir=index_dir, drain=False)


def _unfinished(checkpoint: Checkpoint) -> bool:
    return last_planned(checkpoint) > last_done(checkpoint)


def _leaving(old: Plan, new: Plan) -> set[str]:
    """Stages that go away and read what stages of the application have written: that has come out of a
    join, and must reach its table."""
    stay = {stage.name for stage in new.stages}
    return {stage.name for stage in old.stages if stage.name not in stay and _reads_own(old, stage)}


def _reads_own(plan: Plan, stage: Stage) -> bool:
    if isinstance(stage, WindowStage):
        return True
    tables = stage.inputs if isinstance(stage, SlicerStage) else ()
    sources = [table.source for table in tables]
    return any(
        isinstance(source, ScribeSource) and source.category.startswith(f"{plan.application}.")
        for source in sources
    )


def _run(stages: Sequence[BuiltStage], home: str, application: str, mode: Mode) -> None:
    failures: Failures = {}
    running = [(stage, start(stage, home, application, mode, failures)) for stage in stages]
    for stage, queries in running:
        for query in queries:
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                raise failures.get(stage.name) or failure_of(error, stage.name) from error


def _last_step(home: str, plan: Plan, join: str) -> int | None:
    offsets = offsets_done(Checkpoint(home, plan.application, join))
    return JoinOffset.from_json(offsets[0]).step if offsets else None
