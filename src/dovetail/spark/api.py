"""The join for people with a working Spark job: two streaming DataFrames in, one out.

    joined = dovetail.join(
        clicks, impressions, on="ad_id", how="left",
        left_time="clicked_at", right_time="shown_at", before="1 hour", after="5 minutes",
        name="clicks_and_impressions", home="/data/dovetail",
    )
    joined.writeStream.format("parquet")...start()

The call starts two queries, `<name>.left` and `<name>.right`, which slice the inputs into the log; the
DataFrame it returns reads the join. They are ordinary streaming queries: `spark.streams.active` shows them,
and they end with the session.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Literal, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dovetail.errors import PlanError
from dovetail.log.filesystem import absolute_home
from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.plan.options import JoinOptions
from dovetail.plan.physical import CategoryOutput, JoinColumn, JoinStage, NoopSink, Plan, SlicerStage
from dovetail.spark.api_options import Duration, Options, duration_us, resolved
from dovetail.spark.application import claim, running
from dovetail.spark.building import Builder
from dovetail.spark.failures import failure_of
from dovetail.spark.starting import Failures, Mode, start

On = str | Sequence[str | tuple[str, str]]
SOURCE = "joined"

_held: dict[tuple[str, str], ExitStack] = {}
"""Applications that this process runs: a second process is refused, a second call here goes on."""


def join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    *,
    left_time: str,
    right_time: str,
    before: Duration,
    after: Duration,
    how: JoinType = "inner",
    name: str,
    home: str = ".dovetail",
    suffix: str = "_right",
    mode: Literal["stream", "available-now", "drain"] = "stream",
    **options: Unpack[Options],
) -> DataFrame:
    """Join two streaming DataFrames on equal keys and event times within bounds.

    A left row matches a right row if the `on` columns are equal and `left_time - before <= right_time <=
    left_time + after`. `on` names a column both have, or several, or pairs `(left, right)`. The result has
    the key columns, the other left columns, then the other right columns, those whose names are taken with
    `suffix`; semi and anti joins give left columns only. `name` and `home` say where the join keeps its log
    and state: the same again goes on where it stopped. With mode "available-now" or "drain" the inputs are
    sliced before the call returns, and the result, to be run with `trigger(availableNow=True)`, covers them;
    "drain" also closes every window.

    `options` are those of a join in PQL, by the same names and with the same defaults: `match="one"`,
    `max_delay="30 seconds"`, `stream_time="percentile"`, `pacing="on"`, `left_cap=1000`, and so on.
    """
    for side, rows in (("left", left), ("right", right)):
        if not rows.isStreaming:
            raise PlanError(
                f"the {side} DataFrame is not a stream",
                expected="a DataFrame from spark.readStream",
                hint="two batch DataFrames are joined by DataFrame.join",
            )
    given = resolved(options)
    spec = given.spec(duration_us(before, "before"), duration_us(after, "after"), how)
    keys = [(key, key) if isinstance(key, str) else key for key in ([on] if isinstance(on, str) else on)]
    if not keys:
        raise PlanError("a join needs at least one key column", expected='on="key" or on=["a", "b"]')
    plan = _plan(left, right, keys, spec, given, name, suffix)
    home = absolute_home(home)
    spark = left.sparkSession
    _hold(home, name)
    claim(home, plan)
    tasks_by_default, index_dir = spark.sparkContext.defaultParallelism, os.environ.get("DOVETAIL_INDEX_DIR")
    builder = Builder(spark, plan, home, tasks_by_default, index_dir=index_dir or None, drain=mode == "drain")
    left_stage, right_stage, join_stage = plan.stages
    assert isinstance(left_stage, SlicerStage)
    assert isinstance(right_stage, SlicerStage)
    assert isinstance(join_stage, JoinStage)
    builder.adopt(left_stage, _side(left, [a for a, _ in keys], left_time))
    builder.adopt(right_stage, _side(right, [b for _, b in keys], right_time))
    joined = builder.build_stage(join_stage).rows
    _slice(builder, home, name, mode)
    return joined


def _plan(
    left: DataFrame,
    right: DataFrame,
    keys: list[tuple[str, str]],
    spec: IntervalSpec,
    given: JoinOptions,
    name: str,
    suffix: str,
) -> Plan:
    names = tuple(f"_key_{number}" for number in range(len(keys)))
    categories = (f"{name}.left", f"{name}.right")
    sides = tuple(
        SlicerStage(
            category, (), (), "", CategoryOutput(category, names, "_time", given.buckets, given.compression)
        )
        for category in categories
    )
    columns, select = _columns(left, right, keys, spec, suffix)
    joined = JoinStage(
        name=name,
        left=categories[0],
        right=categories[1],
        spec=spec,
        settings=given.settings,
        source_name=SOURCE,
        columns=tuple(columns),
        views=(),
        select=f"SELECT {', '.join(select)} FROM `{SOURCE}`",
        output=NoopSink(),
    )
    return Plan(name, (*sides, joined))


def _columns(
    left: DataFrame, right: DataFrame, keys: list[tuple[str, str]], spec: IntervalSpec, suffix: str
) -> tuple[list[JoinColumn], list[str]]:
    """What the join source yields, and the SELECT that names it: keys once, from whichever side is there."""
    columns, select = [], []

    def add(name: str, side: str, source: str) -> None:
        columns.append(JoinColumn(name, side, source))
        select.append(f"`{name}`")

    for number, (key, _) in enumerate(keys):
        if spec.keeps_right:
            both = {side: f"_{side[0]}_key_{number}" for side in ("left", "right")}
            columns.extend(JoinColumn(name, side, f"_key_{number}") for side, name in both.items())
            select.append(f"coalesce(`{both['left']}`, `{both['right']}`) AS `{key}`")
        else:
            add(key, "left", f"_key_{number}")
    taken = {key for key, _ in keys}
    for column in left.columns:
        if column not in taken:
            add(column, "left", column)
    taken |= set(left.columns)
    for column in right.columns if spec.emits_pairs else []:
        if column not in {key for _, key in keys}:
            add(column + suffix if column in taken else column, "right", column)
    return columns, select


def _side(rows: DataFrame, keys: list[str], time: str) -> DataFrame:
    missing = [column for column in [*keys, time] if column not in rows.columns]
    if missing:
        raise PlanError(
            f"no column {', '.join(missing)}",
            expected=f"one of {', '.join(rows.columns)}",
            hint="check on= and *_time=",
        )
    payload = [F.col(f"`{column}`") for column in rows.columns if column not in keys]
    return rows.select(
        *(F.col(f"`{key}`").alias(f"_key_{number}") for number, key in enumerate(keys)),
        F.col(f"`{time}`").alias("_time"),
        *payload,
    )


def _slice(builder: Builder, home: str, name: str, mode: Mode) -> None:
    failures: Failures = {}
    slicers = [stage for stage in builder.stages if stage.join is None]
    queries = [(stage, query) for stage in slicers for query in start(stage, home, name, mode, failures)]
    if mode == "stream":
        return
    for stage, query in queries:
        try:
            query.awaitTermination()
        except Exception as error:
            raise failures.get(stage.name) or failure_of(error, stage.name) from error


def _hold(home: str, name: str) -> None:
    if (home, name) not in _held:
        stack = ExitStack()
        stack.enter_context(running(home, name))
        _held[(home, name)] = stack
