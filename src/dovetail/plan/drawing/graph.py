"""The operator graph of a plan, as the paper's Figure 4 draws it: data, slicers, joins, slicers, data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.join_kind import JoinKind
from dovetail.plan.aggregates import time_window_words
from dovetail.plan.consumers import consumers
from dovetail.plan.delays import JoinDelays, delays
from dovetail.plan.dialect import pql_sql
from dovetail.plan.functions import TIME_WINDOWS
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.kind_words import kind_words
from dovetail.plan.joins.words import HOW_WORDS
from dovetail.plan.lookups import lookup_lines
from dovetail.plan.physical import (
    CategoryOutput,
    FileSink,
    InputTable,
    JoinStage,
    KafkaSource,
    LakeSource,
    OutsideSink,
    Plan,
    ScribeSink,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
)
from dovetail.plan.scope import is_simple
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, is_join, reads

Kind = Literal["category", "files", "slicer", "join", "aggregate", "sink"]
"""Boxes are data (category, files, sink) or operators (slicer, join, aggregate)."""

MOST_LINES = 8


@dataclass(frozen=True)
class Node:
    id: str
    kind: Kind
    title: str
    lines: tuple[str, ...] = ()


@dataclass
class PlanGraph:
    title: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)

    def add(self, node: Node) -> str:
        """Adds a node. The first description of it stays, unless that has no lines."""
        known = self.nodes.get(node.id)
        if known is None or (node.lines and not known.lines):
            self.nodes[node.id] = node
        return node.id

    def edge(self, start: str, stop: str) -> None:
        if (start, stop) not in self.edges:
            self.edges.append((start, stop))


def graph_of(program: Program, plan: Plan) -> PlanGraph:
    """The graph of a plan, given the rewritten program that it was built from."""
    graph = PlanGraph(plan.application)
    tables = [statement for statement in program if isinstance(statement, CreateTable)]
    by_output = {table.storage.category: table for table in tables}
    late = delays(plan)
    for stage in plan.stages:
        table = program.get(stage.name)
        if not isinstance(table, CreateTable):
            output = stage.output
            table = (
                by_output.get(output.category) if isinstance(output, CategoryOutput | ScribeSink) else None
            )
        if table is None:
            assert isinstance(stage, JoinStage)
            table = _table_of_join(program, stage)
        _add_stage(graph, program, stage, table, late)
    return graph


def _table_of_join(program: Program, stage: JoinStage) -> CreateTable:
    join = program.get(stage.source_name)
    assert join is not None
    return next(reader for reader in consumers(program, join) if isinstance(reader, CreateTable))


def _add_stage(
    graph: PlanGraph, program: Program, stage: Stage, table: CreateTable, late: dict[str, JoinDelays]
) -> None:
    if isinstance(stage, SlicerStage):
        side = isinstance(stage.output, CategoryOutput) and stage.output.time is not None
        view, _, which = stage.name.rpartition(".")
        what = "slicer" if stage.lookup is None else "lookup"
        title = f"{view}: {which} slicer" if side else f"{stage.name}: {what}"
        lines = _side_lines(program, table) if side else _slicer_lines(program, table)
        lines = lines if stage.lookup is None else lookup_lines(stage.lookup)
        last = graph.add(Node(f"slicer {stage.name}", "slicer", title, lines))
        for source in stage.inputs:
            graph.edge(graph.add(_input_node(source)), last)
        if (lookup := stage.lookup) is not None:
            columns = _limited([f"{column.name} {column.type}" for column in lookup.columns])
            outside = Node(f"table {lookup.table}", "files", lookup.source.place, ("lookup table", *columns))
            graph.edge(graph.add(outside), last)
    elif isinstance(stage, WindowStage):
        lines = (*_window_lines(stage), *_slicer_lines(program, table))
        last = graph.add(Node(f"aggregate {stage.name}", "aggregate", f"{stage.table}: aggregate", lines))
        graph.edge(graph.add(Node(f"category {stage.rows}", "category", stage.rows)), last)
    else:
        lines = (*_join_lines(stage), *_delay_lines(late[stage.name]))
        join = graph.add(Node(f"join {stage.name}", "join", f"{stage.name}: join", lines))
        for category in (stage.left, stage.right):
            graph.edge(graph.add(Node(f"category {category}", "category", category)), join)
        title = f"{stage.name if isinstance(stage.output, CategoryOutput) else table.name}: post-join slicer"
        last = graph.add(Node(f"post {stage.name}", "slicer", title, _slicer_lines(program, table)))
        graph.edge(join, last)
    graph.edge(last, graph.add(_output_node(program, stage)))


def _input_node(table: InputTable) -> Node:
    columns = _limited([f"{column.name} {column.type or '?'}" for column in table.columns])
    if isinstance(table.source, ScribeSource):
        return Node(f"category {table.source.category}", "category", table.source.category, columns)
    if isinstance(table.source, KafkaSource):
        return Node(f"topic {table.name}", "files", table.source.topic, ("Kafka topic", *columns))
    if isinstance(table.source, LakeSource):
        return Node(f"table {table.name}", "files", table.source.place, ("appended rows", *columns))
    return Node(f"files {table.name}", "files", table.source.path, (f"{table.source.format} files", *columns))


def _output_node(program: Program, stage: Stage) -> Node:
    output = stage.output
    if isinstance(output, CategoryOutput):
        keys = _key_types(program, output)
        lines = [
            f"{output.buckets} bucket{'s' if output.buckets > 1 else ''}"
            + (f" by {', '.join(keys)}" if keys else "")
        ]
        return Node(f"category {output.category}", "category", output.category, tuple(lines))
    if isinstance(output, ScribeSink):
        lines = [f"sharded by {output.shard}"] if output.shard else []
        return Node(f"category {output.category}", "category", output.category, tuple(lines))
    if isinstance(output, FileSink):
        return Node(f"sink {stage.name}", "files", output.path, (f"{output.format} files",))
    if isinstance(output, OutsideSink):
        return Node(f"sink {stage.name}", "sink", output.place)
    title = type(output).__name__.removesuffix("Sink").lower()
    return Node(f"sink {stage.name}", "sink", title)


def _key_types(program: Program, output: CategoryOutput) -> list[str]:
    """The keys of an intermediate category with their types."""
    types = {
        column.name: column.type or "?"
        for statement in program
        if isinstance(statement, CreateInput) and statement.origin == ScribeSource(output.category)
        for column in statement.columns
    }
    return [f"{key} {types.get(key, '?')}" for key in output.keys]


def _join_lines(stage: JoinStage) -> tuple[str, ...]:
    left, right = words(stage.settings.left_max_delay_us), words(stage.settings.right_max_delay_us)
    return (
        f"type     {HOW_WORDS[stage.join_kind.how]}",
        *_kind_lines(stage.join_kind),
        f"time     {estimate_words(stage.settings.estimate)}"
        if stage.settings.estimate
        else f"delay    {left}"
        if left == right
        else f"delay    left {left}, right {right}",
    )


def _delay_lines(join: JoinDelays) -> tuple[str, ...]:
    if join.counted:
        return ()
    rows = {"pairs": join.pairs, "left alone": join.left_alone, "right alone": join.right_alone}
    outs = {what: delay.words() for what, delay in rows.items() if delay is not None}
    same = len(set(outs.values())) == 1
    said = next(iter(outs.values())) if same else ", ".join(f"{what} {delay}" for what, delay in outs.items())
    held = join.left_held.words(), join.right_held.words()
    return (
        f"out by   {said}",
        f"holds    {held[0]}" if held[0] == held[1] else f"holds    left {held[0]}, right {held[1]}",
    )


def _window_lines(stage: WindowStage) -> tuple[str, ...]:
    estimate, delay_us = stage.settings.estimate, stage.settings.max_delay_us
    return (
        f"window   {time_window_words(stage.window)}",
        f"time     {estimate_words(estimate)}" if estimate else f"delay    {words(delay_us)}",
    )


def _kind_lines(kind: JoinKind) -> tuple[str, ...]:
    said = kind_words(kind)
    lines = {"window": said.window, "emits": said.emits, "joins": said.joins, "match": said.match}
    given = [(word, line) for word, line in lines.items() if line is not None]
    return tuple(f"{word:<9}{line}" for word, line in (*said.finds, *given))


def estimate_words(spec: EstimateSpec) -> str:
    what = f"percentile {spec.percentile:g}" if spec.statistic == "percentile" else "mean"
    return f"estimated: {what} of event times"


def _side_lines(program: Program, table: CreateTable) -> tuple[str, ...]:
    """Keys, time, filter and payload of a join's side."""
    view = program.get(reads(table)[0])
    assert isinstance(view, CreateView)
    items = {item.output_name: item.unalias() for item in view.query.selects}
    keys = [_plain(node) for name, node in items.items() if name.startswith("_key_")]
    lines = [f"key      {', '.join(keys)}"] if keys else []
    lines.extend(
        f"operand  {_assigned(name, node)}" for name, node in items.items() if name.startswith("_on_")
    )
    lines.append(f"time     {_plain(items['_time'])}")
    lines.extend(_where(view.query))
    lines.extend(
        f"column   {_assigned(name, node)}"
        for name, node in items.items()
        if not name.startswith(("_key_", "_on_", "_time", "_hash"))
    )
    return _limited(lines)


def _slicer_lines(program: Program, table: CreateTable) -> tuple[str, ...]:
    """What is evaluated on the way to a table: filters, and every item that is not a plain column."""
    lines: list[str] = []
    todo: list[CreateTable | CreateView] = [table]
    while todo:
        statement = todo.pop()
        query = statement.query
        below = [program.get(name) for name in reads(statement)]
        todo.extend(s for s in below if isinstance(s, CreateView) and not is_join(s))
        if not is_simple(query):
            lines.insert(0, f"{statement.name} = {pql_sql(query)}")
            continue
        group = query.args.get("group")
        made = [*_where(query)]
        made.extend(
            f"column   {_assigned(item.output_name, item.unalias())}"
            for item in query.selects
            if not isinstance(item.unalias(), exp.Column) or item.unalias().name != item.output_name
        )
        if group is not None:
            made.append(f"group by {', '.join(_plain(node) for node in group.expressions)}")
        lines = [*made, *lines]
    return _limited(lines or [f"column   {item.output_name}" for item in table.query.selects])


def _where(query: exp.Expr) -> list[str]:
    where = query.args.get("where")
    return [f"where    {_plain(where.this)}"] if where is not None else []


def _assigned(name: str, node: exp.Expr) -> str:
    return name if isinstance(node, exp.Column) and node.name == name else f"{name} = {_plain(node)}"


def _plain(node: exp.Expr) -> str:
    """An expression without the relations' names."""
    bare = node.copy()
    for column in bare.find_all(exp.Column):
        if column.table.lower() not in TIME_WINDOWS:
            column.set("table", None)
    return pql_sql(bare)


def _limited(lines: list[str]) -> tuple[str, ...]:
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    return (*lines[: MOST_LINES - 1], f"... {len(lines) - MOST_LINES + 1} more")
