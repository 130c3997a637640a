"""The join for people with a working Spark job: two streaming DataFrames in, one out.

    joined = dovetail.join(
        clicks, impressions, on="ad_id", how="left",
        left_time="clicked_at", right_time="shown_at", before="1 hour", after="5 minutes",
        name="clicks_and_impressions", home="/data/dovetail",
    )
    joined.writeStream.format("parquet")...start()

or, in place of `before` and `after`, the rows of one window: `within=dovetail.Tumbling("10 seconds")`,
`dovetail.Hopping("10 seconds", every="2 seconds")` or `dovetail.Session("30 seconds")`.

The call starts two slicers, `<name>.left` and `<name>.right`, which put the inputs into the log; the
DataFrame it returns reads the join. DataFrames that only pick and rename columns of Parquet files are
sliced by threads of this process, which rest while no query of the session runs. Others are sliced by
ordinary streaming queries: `spark.streams.active` shows them. Both end with the session. If a slicer fails,
so does the query that reads the join, with its error."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Unpack

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from dovetail.changes.takeover import consider, take_over
from dovetail.changes.timeline import recorded_steps
from dovetail.changes.verdict import Change
from dovetail.changes.words import change_lines, verdict_words
from dovetail.engine.gates import Gates
from dovetail.engine.hold import running
from dovetail.errors import PlanError
from dovetail.log.homes.filesystem import absolute_home
from dovetail.model.interval import JoinType
from dovetail.model.share import Side
from dovetail.plan.dataframes.arguments import JoinMode, check_words, key_pairs
from dovetail.plan.dataframes.build import asked, join_plan
from dovetail.plan.dataframes.duration import Duration
from dovetail.plan.dataframes.options import Options
from dovetail.plan.dataframes.picks import picked_by
from dovetail.plan.dataframes.windows import Windows
from dovetail.plan.physical import JoinStage, Plan, SlicerStage
from dovetail.plan.promises import inheriting
from dovetail.pql.picks import pick_in
from dovetail.spark.attempts import Attempts
from dovetail.spark.building import Builder, BuiltStage
from dovetail.spark.failures import failure_of
from dovetail.spark.frame_times import promising, with_times
from dovetail.spark.hang_up import hung_up
from dovetail.spark.progress import take_up
from dovetail.spark.source_reports import SourceReports
from dovetail.spark.starting import Mode, start
from dovetail.spark.worker_python import await_python
from dovetail.spark.workers import make_ready

On = str | Sequence[str | tuple[str, str]]

LOOK_S = 1.0

_held: dict[tuple[str, str], ExitStack] = {}
"""Applications that this process runs: a second process is refused, a second call here goes on."""


def join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    *,
    left_time: str,
    right_time: str,
    before: Duration | None = None,
    after: Duration | None = None,
    within: Windows | None = None,
    how: JoinType = "inner",
    name: str,
    home: str = ".dovetail",
    suffix: str = "_right",
    mode: JoinMode = "stream",
    **options: Unpack[Options],
) -> DataFrame:
    """Join two streaming DataFrames on equal keys, and event times within bounds or within windows.

    A left row matches a right row if the `on` columns are equal and `left_time - before <= right_time <=
    left_time + after`, or, with `within` in place of `before` and `after`, if both are in the same window:
    `Tumbling(length)`, `Hopping(length, every=...)` or `Session(gap)`. Within hopping windows a pair comes
    out once for every window that has both.

    `on` names a column both have, or several, or pairs `(left, right)`. The result has the key columns, the
    other left columns, then the other right columns, those whose names are taken with `suffix`, and of a join
    within windows `window_start` and `window_end` (a left column of such a name is refused); semi and anti
    joins give no right columns. `name` and `home` say where the join keeps its log and state: the same again
    goes on where it stopped. With mode "available-now" or "drain" the inputs are sliced before the call
    returns, and the result, to be run with `trigger(availableNow=True)`, covers them; "drain" also closes
    every window.

    `options` are those of a join in PQL, by the same names and with the same defaults: `match="one"`,
    `max_delay="30 seconds"`, `stream_time="percentile"`, `pacing="on"`, `left_cap=1000`, within windows
    `emit="lazy"` and `max_session="2 hours"`, and so on. A pick by value is a text in which the DataFrames
    are called `left` and `right`: `match="one", pick="min(abs(right.price - left.limit))"`.
    """
    keys = key_pairs(on)
    check_words(name, mode, suffix)
    for side, rows in (("left", left), ("right", right)):
        if not isinstance(rows, DataFrame) or not rows.isStreaming:
            what = "not a stream" if isinstance(rows, DataFrame) else f"a {type(rows).__name__}"
            raise PlanError(
                f"the {side} DataFrame is {what}",
                expected="a DataFrame from spark.readStream",
                hint="two batch DataFrames are joined by DataFrame.join",
            )
    picked = picked_by(pick_in(options.get("pick")), left.columns, right.columns)
    wanted = asked(before, after, within, how, options, picked)
    plan, upstream = _with_inherited_times(
        join_plan(name, left.columns, right.columns, keys, (left_time, right_time), wanted, suffix),
        (left, left_time),
        (right, right_time),
    )
    home = absolute_home(home)
    spark = left.sparkSession
    make_ready(spark.sparkContext)
    _hold(home, name)
    takeover = consider(home, [plan])
    # Spark's checkpoint is the caller's, so the records say how far the join has come.
    version = take_over(takeover, recorded_steps(takeover.before.plan, home) if takeover.before else {})
    _tell(name, version, takeover.changes)
    plan = takeover.plan
    tasks_by_default, index_dir = spark.sparkContext.defaultParallelism, os.environ.get("DOVETAIL_INDEX_DIR")
    gates = _gates()
    builder = Builder(
        spark,
        plan,
        home,
        tasks_by_default,
        index_dir=index_dir or None,
        drain=mode == "drain",
        gates=gates,
    )
    left_stage, right_stage, join_stage = plan.stages
    assert isinstance(left_stage, SlicerStage)
    assert isinstance(right_stage, SlicerStage)
    assert isinstance(join_stage, JoinStage)
    left_rows = _side("left", left, [a for a, _ in keys], left_time, wanted.operands("left"))
    right_rows = _side("right", right, [b for _, b in keys], right_time, wanted.operands("right"))
    builder.adopt(left_stage, left_rows, upstream[0])
    builder.adopt(right_stage, right_rows, upstream[1])
    await_python(spark.sparkContext)  # what follows starts a Python process
    joined = with_times(builder.build_stage(join_stage).rows, home, join_stage, left_time, right_time)
    gates.open(join_stage.name)
    _slice(builder, home, name, mode, gates)
    return joined


def _tell(name: str, version: int, changes: Sequence[Change]) -> None:
    """What other arguments than before mean, as `dovetail run` says it: they may be a slip."""
    if changes:
        said = f"join {name}: version {version} takes over: {verdict_words(changes)}"
        lines = [said, *change_lines(changes, places=False)]
        logging.getLogger("dovetail").warning("%s", "\n".join(lines))


def _with_inherited_times(plan: Plan, *times: tuple[DataFrame, str]) -> tuple[Plan, list[JoinStage | None]]:
    """The plan, whose join inherits the time of a side that came out of another join; and those joins."""
    *slicers, join_stage = plan.stages
    assert isinstance(join_stage, JoinStage)
    sides = [
        promising(stage, rows, time)
        for stage, (rows, time) in zip(slicers, times, strict=True)
        if isinstance(stage, SlicerStage)
    ]
    stages = [stage for stage, _ in sides]
    made = replace(plan, stages=(*stages, inheriting(join_stage, stages)))
    return made, [upstream for _, upstream in sides]


def _side(side: Side, rows: DataFrame, keys: list[str], time: str, operands: tuple[str, ...]) -> DataFrame:
    missing = [column for column in [*keys, time] if column not in rows.columns]
    if missing:
        raise PlanError(
            f"no column {', '.join(missing)}",
            expected=f"one of {', '.join(rows.columns)}",
            hint="check on= and *_time=",
        )
    payload = [F.col(f"`{column}`") for column in rows.columns if column not in keys]
    rows = rows.alias(side) if operands else rows  # they name their side
    return rows.select(
        *(F.col(f"`{key}`").alias(f"_key_{number}") for number, key in enumerate(keys)),
        *(F.expr(sql).alias(f"_on_{number}") for number, sql in enumerate(operands)),
        F.col(f"`{time}`").alias("_time"),
        *payload,
    )


def _gates() -> Gates:
    gates = Gates()
    atexit.register(gates.remove)
    return gates


def _slice(builder: Builder, home: str, name: str, mode: Mode, gates: Gates) -> None:
    """Start the slicers. Where the inputs never end, a thread watches each and ends the join if it fails."""
    _slice_here(builder, home, name, mode, gates)
    slicers = [stage for stage in builder.stages if stage.join is None and stage.resident is None]
    if not slicers:
        return
    for stage in slicers:
        take_up(builder.spark, stage, home, name)
    attempts = Attempts()
    running: dict[str, StreamingQuery] = {}
    over: set[str] = set()
    reports = SourceReports(slicers, home, name, lambda stage: [running[stage]] if stage in running else [])

    def started(stage: BuiltStage) -> StreamingQuery:
        running[stage.name] = start(stage, home, name, mode, attempts.failures)[0]
        return running[stage.name]

    def await_end(stage: BuiltStage, query: StreamingQuery) -> None:
        """Until the slicer ends; after a fault of the moment it is started again."""
        while True:
            with suppress(StreamingQueryException):
                query.awaitTermination()
            if not attempts.ended(stage.name, [query]):
                return
            query = started(stage)

    def watch(stage: BuiltStage, query: StreamingQuery) -> None:
        try:
            await_end(stage, query)
        except Exception as error:
            if not hung_up(error):
                gates.fail(name, failure_of(error, stage.name))
        finally:
            over.add(stage.name)
            if len(over) == len(slicers):
                reports.stop()

    if mode == "stream":
        reports.__enter__()
        atexit.register(reports.stop)  # before the JVM goes
    else:
        reports.forget()
    queries = [(stage, started(stage)) for stage in slicers]
    for stage, query in queries:
        if mode == "stream":
            Thread(target=watch, args=(stage, query), name=f"watch {stage.name}", daemon=True).start()
        else:
            await_end(stage, query)


def _slice_here(builder: Builder, home: str, name: str, mode: Mode, gates: Gates) -> None:
    """Start the slicers that live in this process. They end with the session, and rest when its last query
    has been stopped: a user who stops the query that reads a join expects that nothing goes on."""
    context, queries = builder.spark.sparkContext, ActiveQueries(builder.spark)
    begun = []
    for stage in builder.stages:
        if stage.resident is None:
            continue
        slicer = stage.resident.slicing(
            home,
            finite=mode != "stream",
            failed=partial(_fail, gates, name, stage.name),
            lives=lambda: context._jsc is not None,
            rests=queries.are_over,
        )
        slicer.start()
        atexit.register(slicer.stop)
        begun.append((stage.name, slicer))
    if mode != "stream":
        for stage_name, slicer in begun:
            slicer.join()
            if slicer.error is not None:
                raise failure_of(slicer.error, stage_name) from slicer.error


class ActiveQueries:
    """The queries of a session, looked at about once a second."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._seen = self._over = False
        self._looked_s = 0.0

    def are_over(self) -> bool:
        """There was one, and there is none any more."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            with suppress(Exception):  # a session that is ending; then the slicers end as well
                active = bool(self._spark.streams.active)
                self._over = self._seen and not active
                self._seen |= active
        return self._over


def _fail(gates: Gates, name: str, stage: str, error: Exception) -> None:
    gates.fail(name, failure_of(error, stage))


def _hold(home: str, name: str) -> None:
    if (home, name) not in _held:
        stack = ExitStack()
        stack.enter_context(running(home, name))
        _held[(home, name)] = stack
