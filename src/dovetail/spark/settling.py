"""The old query comes to rest before a new one takes over.

Law: after this, every batch that was planned is done, by the query that planned it, and nothing that one
stage has put out waits for a stage that goes away. So a version begins exactly between two batches of each
stage, and a kill anywhere in between only means that the same is done again."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from dovetail.changes.takeover import Takeover
from dovetail.model.offset import JoinOffset
from dovetail.plan.physical import Plan, ScribeSource, SlicerStage, Stage, WindowStage
from dovetail.spark.batch_files import last_done, last_planned, offsets_at
from dovetail.spark.building import Builder, BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.clean_stop import copy_snapshots
from dovetail.spark.failures import failure_of
from dovetail.spark.starting import Failures, Mode, require_output, start


def settle(spark: SparkSession, takeover: Takeover, index_dir: str | None) -> dict[str, int]:
    """Let the old query finish what it has begun, where the change concerns that; gives the last step of each
    of its joins. A new query that Spark refuses is refused before anything is done."""
    if takeover.before is None or not takeover.changes:
        return {}
    old, home = takeover.before.plan, takeover.home
    if takeover.cuts:
        _come_to_rest(spark, old, takeover.plan, home, index_dir)
    return {join.name: step for join in old.joins if (step := _last_step(home, old, join.name)) is not None}


def _come_to_rest(spark: SparkSession, old: Plan, new: Plan, home: str, index_dir: str | None) -> None:
    for stage in _builder(spark, new, home, index_dir).build():
        require_output(stage, home, new.application)
    leaving = _leaving(old, new)
    begun = {stage.name for stage in old.stages if _unfinished(Checkpoint(home, old.application, stage.name))}
    if begun or leaving:
        stages = _builder(spark, old, home, index_dir).build()
        _run([stage for stage in stages if stage.name in begun], home, old.application, "once")
        # In the order of the plan: what one of them puts out is there when the next one starts.
        for stage in stages:
            if stage.name in leaving and stage.resident is None:
                _run([stage], home, old.application, "available-now")
        copy_snapshots(spark, [stage.join for stage in stages if stage.join is not None])


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
    """The last one that was planned: a step that runs again is that of whoever has planned it."""
    checkpoint = Checkpoint(home, plan.application, join)
    batch = last_planned(checkpoint)
    return JoinOffset.from_json(offsets_at(checkpoint, batch)[0]).step if batch >= 0 else None
