"""Rewritten program -> physical plan. The rules have put every expression in its place; this makes stages.

A stage ends in a CREATE TABLE. It has the plain views that the table reads, in order, and below them either
input tables (a slicer stage) or one join view (a join stage). An aggregate is a stage of its own.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dovetail.connectors.kinds import SINKS
from dovetail.connectors.options import EVERY, MERGE_EVERY, PARTITIONED
from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, JoinKind, ThetaJoin, WindowedJoin
from dovetail.model.validity import Validity
from dovetail.model.window_config import WindowSettings
from dovetail.model.window_join import LONGEST_SESSION_US
from dovetail.plan.aggregates import read_window, window_call
from dovetail.plan.consumers import unread
from dovetail.plan.dialect import spark_sql
from dovetail.plan.functions import function_name
from dovetail.plan.joins.condition import JoinView, read_join
from dovetail.plan.joins.options import BUCKETS, CONFIRMED_BY, MAX_DELAY_US, MAX_STEP_ROWS
from dovetail.plan.joins.picks import picked_expression
from dovetail.plan.joins.theta import theta_of
from dovetail.plan.joins.windows import reads_bounds
from dovetail.plan.lookup_stage import lookup_stage
from dovetail.plan.physical import (
    CategoryOutput,
    Column,
    ConsoleSink,
    FileSink,
    InputTable,
    JoinColumn,
    JoinStage,
    NoopSink,
    Output,
    OutsideSink,
    Plan,
    Relation,
    ScribeSink,
    ScribeSource,
    SlicerStage,
    Stage,
    TableSource,
    WindowStage,
)
from dovetail.plan.problems import Problems
from dovetail.plan.promises import with_promises
from dovetail.plan.scope import environment_of, output_names, relation_types
from dovetail.plan.ship_functions import shipped
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, is_join, reads
from dovetail.plan.tree import column


def build(program: Program) -> Plan:
    program, functions = shipped(program)
    problems = Problems(program)
    stages: list[Stage] = []
    for statement in program:
        if isinstance(statement, CreateTable):
            with problems.of(statement.name):
                stages.append(_stage(program, statement))
    problems.done()
    return with_promises(
        Plan(program.application, _ordered(stages), program.warnings, functions, program.time_zone)
    )


def unread_warnings(program: Program) -> list[str]:
    """Warnings about what does not run because no table needs it, in a program before the split."""
    written = [s for s in unread(program) if not (isinstance(s, CreateView) and s.part_of)]
    kinds = {s.name: "input table" if isinstance(s, CreateInput) else "view" for s in written}
    found = [f"{kind} `{name}` is read by no table and does not run" for name, kind in kinds.items()]
    called = shipped(program)[1]
    idle = [one.name for one in program.functions if one.function not in called]
    return [*found, *(f"function `{name}` is called nowhere" for name in idle)]


def _stage(program: Program, table: CreateTable) -> Stage:
    inputs: list[InputTable] = []
    looked_up: list[CreateInput] = []
    views: list[Relation] = []
    joins: list[CreateView] = []
    seen: set[str] = set()

    def gather(names: list[str]) -> None:
        for name in names:
            below = program.get(name)
            if below is None or below.name in seen or isinstance(below, CreateTable):
                continue
            seen.add(below.name)
            if isinstance(below, CreateInput) and isinstance(below.origin, TableSource):
                looked_up.append(below)
            elif isinstance(below, CreateInput):
                inputs.append(input_table(below))
            elif is_join(below):
                joins.append(below)
            else:
                gather(reads(below))
                views.append(Relation(below.name, spark_sql(below.query)))

    gather(reads(table))
    output = _output(program, table)
    if joins:
        stage = _join_stage(program, joins[0], output)
        return replace(stage, views=tuple(views), select=spark_sql(table.query))
    name = table.name
    if isinstance(output, CategoryOutput):
        name = output.category.removeprefix(f"{program.application}.")
    if looked_up:
        return lookup_stage(program, table, name, inputs[0], looked_up[0], output)
    call = window_call(table)
    if call is not None:
        return _window_stage(program, table, call, name, inputs[0], output)
    return SlicerStage(name, tuple(inputs), tuple(views), spark_sql(table.query), output)


def input_table(table: CreateInput) -> InputTable:
    assert not isinstance(table.origin, TableSource), "a lookup table is not an input"
    return InputTable(table.name, tuple(Column(c.name, c.type) for c in table.columns), table.origin)


def _output(program: Program, table: CreateTable) -> Output:
    storage = table.storage
    if storage.kind == "SCRIBE":
        category = str(storage.category)
        if category.startswith(f"{program.application}."):
            keys = tuple(name for name in output_names(table.query) if name.startswith("_key_"))
            timed = "_time" in output_names(table.query) and window_call(table) is None
            return CategoryOutput(
                category,
                keys if storage.shard is not None else (),
                "_time" if timed else None,
                storage.get("buckets") or BUCKETS,
                storage.get("compression") or "auto",
            )
        return ScribeSink(
            category,
            spark_sql(storage.shard) if storage.shard else None,
            storage.get("buckets"),
            storage.get("compression") or "auto",
            storage.get("keep"),
            storage.get("keep_bytes"),
        )
    if storage.kind in ("PARQUET", "JSON", "CSV"):
        options = (("header", str(storage.get("header") is not False).lower()),)
        return FileSink(
            storage.kind.lower(),
            storage.get("path"),
            storage.get(PARTITIONED.name) or (),
            options if storage.kind == "CSV" else (),
            storage.get(EVERY.name),
            storage.get(MERGE_EVERY.name),
        )
    if storage.kind in SINKS:
        return OutsideSink(storage.kind, storage.values)
    return ConsoleSink() if storage.kind == "CONSOLE" else NoopSink()


def _join_stage(program: Program, view: CreateView, output: Output) -> JoinStage:
    """The join itself. The caller adds what is evaluated after it."""
    join = read_join(program, view)
    categories = []
    for name in join.names:
        side = program.get(name)
        assert isinstance(side, CreateInput)
        assert isinstance(side.origin, ScribeSource)
        categories.append(side.origin.category)
    given = join.options
    types = relation_types(program)
    columns = []
    for item in join.query.expressions:
        column = item.unalias()
        if reads_bounds(column):
            bound = str(function_name(column)).removeprefix("window_")
            columns.append(JoinColumn(item.output_name, "window", bound, "TIMESTAMP"))
            continue
        side_name = "left" if column.table == join.left else "right"
        type_ = types.get((column.table.lower(), column.name.lower()))
        columns.append(JoinColumn(item.output_name, side_name, column.name, type_))
    return JoinStage(
        name=view.part_of or categories[0].removeprefix(f"{program.application}.").removesuffix(".left"),
        left=categories[0],
        right=categories[1],
        join_kind=_kind(program, join),
        settings=given.settings,
        source_name=view.name,
        columns=tuple(columns),
        views=(),
        select="",
        output=output,
    )


def _kind(program: Program, join: JoinView) -> JoinKind:
    spec, condition, given = _spec(program, join), join.condition, join.options
    if condition.window is not None:
        window = condition.window.join(program, join.how, given.match, given.emit, given.max_session_us)
        return WindowedJoin(join.how, window, spec.match, spec.pick, spec.picked_by)
    if condition.is_theta:
        return ThetaJoin(spec, theta_of(join, environment_of(join.query, relation_types(program))))
    return IntervalJoin(spec)


def _spec(program: Program, join: JoinView) -> IntervalSpec:
    try:
        bounds = join.condition.before_us, join.condition.after_us
        return join.options.spec(*bounds, join.how, picked_expression(join))
    except PlanError as error:  # options that contradict the type of the join
        raise program.placed(error, join.view.span) from None


def _window_stage(
    program: Program, table: CreateTable, call: exp.Expr, name: str, rows: InputTable, output: Output
) -> WindowStage:
    """The query sees the window as a column, a struct as Spark's."""
    assert isinstance(rows.source, ScribeSource)
    bounds = str(function_name(call))
    query = table.query.transform(lambda node: column(bounds) if node == call else node)
    carried = [c for c in rows.columns if c.name not in ("_time", "_hash")]
    return WindowStage(
        name=name,
        rows=rows.source.category,
        window=read_window(program, call),
        settings=_window_settings(program, table),
        keys=tuple(c.name for c in carried if c.name.startswith("_key_")),
        source_name=rows.name,
        window_name=bounds,
        columns=tuple(c for c in carried if not c.name.startswith("_key_")),
        select=spark_sql(query),
        output=output,
    )


def _window_settings(program: Program, table: CreateTable) -> WindowSettings:
    """Rows may be as late as the joins below can make them, and an event time that one of them believes is
    believed here."""
    joins = _joins_below(program, table)
    given = {option.name: int(option.value) for option in table.options}
    settings = [read_join(program, join).options.settings for join in joins]
    believed = [each.validity for each in settings] or [Validity()]
    horizons = [each.horizon_us for each in believed]
    return WindowSettings(
        max_delay_us=given.get("max_delay", sum(_delay(program, join) for join in joins) or MAX_DELAY_US),
        max_step_rows=max((each.max_step_rows for each in settings), default=MAX_STEP_ROWS),
        estimate=next((each.estimate for each in settings if each.estimate is not None), None),
        confirmed_by=max((each.confirmed_by for each in settings), default=CONFIRMED_BY),
        validity=Validity(
            None if None in horizons else max(each for each in horizons if each is not None),
            max(each.max_ahead_us for each in believed),
        ),
        early_us=given.get("early"),
    )


def _joins_below(program: Program, statement: CreateTable | CreateView | CreateInput) -> list[CreateView]:
    """All joins that rows pass through, also those behind an intermediate category."""
    found: dict[str, CreateView] = {}
    todo: list[CreateTable | CreateView | CreateInput] = [statement]
    seen: set[str] = set()
    while todo:
        at = todo.pop()
        if at.name in seen:
            continue
        seen.add(at.name)
        if isinstance(at, CreateView) and is_join(at):
            found[at.name] = at
        below = [program.get(name) for name in reads(at)]
        if isinstance(at, CreateInput) and isinstance(at.origin, ScribeSource):
            below = [
                s for s in program if isinstance(s, CreateTable) and s.storage.category == at.origin.category
            ]
        todo.extend(s for s in below if s is not None)
    return list(found.values())


def _delay(program: Program, view: CreateView) -> int:
    """How long after its event time a result of a join may come out."""
    join = read_join(program, view)
    window, settings = join.condition.window, join.options.settings
    delays_us = settings.left_max_delay_us + settings.right_max_delay_us
    if window is not None and window.window.shape == "session":
        return delays_us + (join.options.max_session_us or LONGEST_SESSION_US) + window.length_us
    return delays_us + join.condition.before_us + join.condition.after_us


def _ordered(stages: list[Stage]) -> tuple[Stage, ...]:
    """Writers of a category before its readers; otherwise, and on a loop, as they come."""
    ordered: list[Stage] = []
    waiting = list(stages)
    while waiting:
        pending = {written_category(stage) for stage in waiting} - {None}
        ready = [s for s in waiting if not (read_categories(s) & (pending - {written_category(s)}))]
        first = ready[0] if ready else waiting[0]
        ordered.append(first)
        waiting.remove(first)
    return tuple(ordered)


def written_category(stage: Stage) -> str | None:
    return stage.output.category if isinstance(stage.output, CategoryOutput | ScribeSink) else None


def read_categories(stage: Stage) -> set[str]:
    if isinstance(stage, JoinStage):
        return {stage.left, stage.right}
    if isinstance(stage, WindowStage):
        return {stage.rows}
    return {table.source.category for table in stage.inputs if isinstance(table.source, ScribeSource)}
