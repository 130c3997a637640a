"""The old query comes to rest before a new one takes over.

Law: after this, every batch that was planned is done, by the query that planned it, and nothing that one
stage has put out waits for a stage that goes away. So a version begins exactly between two batches of each
stage, and a kill anywhere in between only means that the same is done again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from dovetail.changes.afresh import begun_afresh
from dovetail.changes.closing import Closing, forget_closing, read_closing, write_closing
from dovetail.changes.since_commit import at_rest
from dovetail.changes.takeover import Takeover
from dovetail.changes.versions import read_version
from dovetail.errors import Unreachable
from dovetail.plan.application_file import read_current
from dovetail.plan.physical import Plan, ScribeSource, SlicerStage, Stage, WindowStage, filed_under
from dovetail.spark.attempts import Attempts
from dovetail.spark.batch_files import last_done, last_planned
from dovetail.spark.building import Builder, BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.clean_stop import copy_snapshots
from dovetail.spark.filling import filled, last_offset
from dovetail.spark.keepers import note_debts, taken_over
from dovetail.spark.new_readings import note_readings
from dovetail.spark.progress import require_countable, require_own
from dovetail.spark.starting import Mode, require_output, start_patiently


def settle(
    spark: SparkSession, takeover: Takeover, index_dir: str | None, built: Sequence[BuiltStage] | None = None
) -> tuple[Takeover, dict[str, int]]:
    """Let the old query finish what it has begun, where the change concerns that; gives the takeover, with
    what joins that begin afresh are filled with, and the last step of each join of the old query. A new query
    that Spark refuses is refused before anything is done. A stage that takes over to keep the rejects of a
    table needs that rest as well, whatever changes. `built`: its stages, if Spark has accepted them
    already."""
    if takeover.before is None:
        return takeover, {}
    (old, version), home = takeover.before, takeover.home
    if takeover.cuts:
        afresh = begun_afresh(takeover.changes)
        new = takeover.plan
        stages = built or _builder(spark, new, home, index_dir).build()
        for stage in stages:
            require_output(stage, home, new.application)
        require_own(spark, stages, home, new.application)
        known = {stage.name for stage in old.stages}
        require_countable(spark, [s for s in stages if s.name not in known], home, new.application)
        _come_to_rest(spark, old, new, home, index_dir, afresh)
        note_readings(takeover)
        note_debts(takeover)
        if afresh:
            takeover = filled(spark, takeover, index_dir)
            write_closing(home, Closing(version, old, tuple(sorted(afresh))))
    elif taken_over(old, takeover.plan):  # also if no more than the order of statements has changed
        _come_to_rest(spark, old, takeover.plan, home, index_dir, set())
        note_debts(takeover)
    if not takeover.changes:
        return takeover, {}
    takeover = replace(takeover, changes=at_rest(home, takeover.changes))
    steps = {join.name: at.step for join in old.joins if (at := last_offset(home, old, join)) is not None}
    return takeover, steps


def _come_to_rest(
    spark: SparkSession, old: Plan, new: Plan, home: str, index_dir: str | None, afresh: set[str]
) -> None:
    """A join that the new query begins afresh takes all that was sliced for it."""
    leaving = _leaving(old, new)
    begun = {
        stage.name
        for stage in old.stages
        if _unfinished(Checkpoint(home, old.application, filed_under(stage)))
    }
    if begun or leaving or afresh:
        stages = _builder(spark, old, home, index_dir).build()
        _run([s for s in stages if s.name in begun and s.resident is None], home, old.application, "once")
        # In the order of the plan: what one of them puts out is there when the next one starts.
        for stage in stages:
            if stage.name in leaving | afresh and stage.resident is None:
                _run([stage], home, old.application, "available-now")
        copy_snapshots(spark, [stage.join for stage in stages if stage.join is not None])


def let_out(spark: SparkSession, home: str, application: str, index_dir: str | None) -> None:
    """Let joins of the query before put out what they hold, if the query that counts begins them afresh. Done
    again, it changes nothing."""
    closing = read_closing(home, application)
    if closing is None:
        return
    current = read_current(home, application)
    if read_version(home, application, current.version).parent == closing.version:
        close = set(closing.joins) - {join.name for join in current.plan.joins if join.whole}
        stages = _builder(spark, closing.plan, home, index_dir, drain=True).build() if close else []
        ending = [stage for stage in stages if stage.name in close]
        for stage in ending:
            stage.keeps_promise = True  # the join goes on, if not with these rows
        _run(ending, home, application, "available-now")
    forget_closing(home, application)


def _builder(
    spark: SparkSession, plan: Plan, home: str, index_dir: str | None, *, drain: bool = False
) -> Builder:
    tasks = spark.sparkContext.defaultParallelism
    return Builder(spark, plan, home, tasks, index_dir=index_dir, drain=drain)


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
    by_name = {stage.name: stage for stage in stages}
    attempts = Attempts()

    def begin(name: str) -> list[StreamingQuery]:
        return start_patiently(by_name[name], home, application, mode, attempts.failures)

    run_to_end(list(by_name), begin, attempts)


def run_to_end(
    stages: Sequence[str], begin: Callable[[str], list[StreamingQuery]], attempts: Attempts
) -> None:
    """Let the queries of stages come to their end. A fault of the moment costs a restart, as in a run. A
    system that is unavailable is not waited for: the old query goes on and waits for it, and the change is
    refused."""
    running = {name: begin(name) for name in stages}
    for name in stages:
        while True:
            for query in running[name]:
                with suppress(StreamingQueryException):
                    query.awaitTermination()
            if isinstance(away := attempts.failures.get(name), Unreachable):
                raise away
            if not attempts.ended(name, running[name]):
                break
            running[name] = begin(name)
