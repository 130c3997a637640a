"""What an application is, in words and as JSON: its inputs with their types, its joins, its outputs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from dovetail.connectors.kinds import SINKS
from dovetail.plan.aggregates import time_window_words
from dovetail.plan.delays import JoinDelays, delays
from dovetail.plan.dialect import pql_sql
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.bands import bands_in
from dovetail.plan.joins.condition import JoinView, read_join
from dovetail.plan.joins.expressions import is_compiled, is_evaluated
from dovetail.plan.joins.filters import filters
from dovetail.plan.joins.kind_words import KindWords, kind_words
from dovetail.plan.joins.words import (
    HOW_WORDS,
    access_words,
    found_band_words,
    match_words,
)
from dovetail.plan.lookups import lookup_lines
from dovetail.plan.physical import (
    Column,
    JoinStage,
    KafkaSource,
    LakeSource,
    OutsideSink,
    Plan,
    ScribeSource,
    TableSource,
    WindowStage,
)
from dovetail.plan.scope import environment_of, relation_types, tables
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, Storage, is_join, reads
from dovetail.plan.tree import as_written, relation_as_written, table_as_written


@dataclass(frozen=True)
class InputSummary:
    name: str
    reads: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class PlannedJoin:
    """`left_alias` and `right_alias` are the names that the keys and conditions use."""

    name: str
    left: str
    right: str
    type: str
    keys: tuple[str, ...]
    window: str
    before_us: int
    after_us: int
    match: str
    counted: bool = False  # the window counts rows
    finds: tuple[str, ...] = ()  # how a theta or window join finds its pairs
    within: bool = False  # both rows are in one window
    left_alias: str = ""
    right_alias: str = ""
    delays: JoinDelays | None = None  # when rows come out, what is held, and what is waited for

    def lines(self) -> list[str]:
        left, right = _called(self.left, self.left_alias), _called(self.right, self.right_alias)
        window = self.window if self.counted or self.within else f"right rows {self.window} the left row"
        return [
            f"{self.name}: {left} {self.type} {right}",
            f"on {' and '.join(self.keys) or 'no equality'}; {self.match}",
            window,
            *self.finds,
            *(self.delays.lines() if self.delays else ()),
        ]


def _called(relation: str, alias: str) -> str:
    return relation if alias in ("", relation) else f"{relation} AS {alias}"


@dataclass(frozen=True)
class PlannedAggregate:
    """`max_delay_us`: how late rows may be; None where stream time is estimated."""

    name: str
    reads: str
    window: str
    max_delay_us: int | None


@dataclass(frozen=True)
class PlannedLookup:
    """`name` is the view's."""

    name: str
    table: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class OutputSummary:
    name: str
    writes: str


@dataclass(frozen=True)
class Summary:
    application: str
    inputs: tuple[InputSummary, ...]
    joins: tuple[PlannedJoin, ...]
    outputs: tuple[OutputSummary, ...]
    aggregates: tuple[PlannedAggregate, ...] = ()
    lookups: tuple[PlannedLookup, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        lines = [f"application  {self.application}"]
        for table in self.inputs:
            lines.append(f"input        {table.name}: {table.reads}")
            lines.append("             " + ", ".join(f"{c.name} {c.type or '?'}" for c in table.columns))
        for join in self.joins:
            first, *rest = join.lines()
            lines.extend([f"join         {first}", *(f"             {line}" for line in rest)])
        for lookup in self.lookups:
            lines.append(f"lookup       {lookup.name}: rows looked up in {lookup.table}")
            lines.extend(f"             {line}" for line in lookup.lines)
        for aggregate in self.aggregates:
            lines.append(f"aggregate    {aggregate.name}: {aggregate.window} of {aggregate.reads}")
            if aggregate.max_delay_us is not None:
                lines.append(f"             rows may be {words(aggregate.max_delay_us)} late")
        lines.extend(f"output       {output.name}: {output.writes}" for output in self.outputs)
        return lines


def summarise(program: Program, plan: Plan) -> Summary:
    """`program` is the one before its joins were split: it still speaks in the words of the text."""
    running = {name.lower() for stage in plan.slicers for name in (table.name for table in stage.inputs)}
    running |= {stage.lookup.table.lower() for stage in plan.slicers if stage.lookup is not None}
    inputs = [s for s in program if isinstance(s, CreateInput) and s.name.lower() in running]
    joins = {stage.name: stage for stage in plan.joins}
    late = delays(plan)
    return Summary(
        application=program.application,
        inputs=tuple(
            InputSummary(s.name, _origin(s), tuple(Column(c.name, c.type) for c in s.columns)) for s in inputs
        ),
        joins=tuple(
            replace(_join(program, s, joins[s.name]), delays=late[s.name])
            for s in program
            if isinstance(s, CreateView) and is_join(s) and s.name in joins
        ),
        outputs=tuple(
            OutputSummary(s.name, _storage(s.storage)) for s in program if isinstance(s, CreateTable)
        ),
        aggregates=tuple(_aggregate(program, stage) for stage in plan.windows),
        lookups=tuple(
            PlannedLookup(stage.name, stage.lookup.table, lookup_lines(stage.lookup))
            for stage in plan.slicers
            if stage.lookup is not None
        ),
    )


def _aggregate(program: Program, stage: WindowStage) -> PlannedAggregate:
    table = program.get(stage.table)
    assert table is not None
    settings = stage.settings
    delay_us = settings.max_delay_us if settings.estimate is None else None
    return PlannedAggregate(stage.table, reads(table)[0], time_window_words(stage.window), delay_us)


def _join(program: Program, view: CreateView, stage: JoinStage) -> PlannedJoin:
    join = read_join(program, view)
    on, counted = join.condition, join.options.rows is not None
    pairs = zip(on.left_keys, on.right_keys, strict=True)
    left, right = tables(join.query)
    said, within = kind_words(stage.join_kind), stage.join_kind.windows is not None
    return PlannedJoin(
        name=view.name,
        left=relation_as_written(left),
        right=relation_as_written(right),
        type=HOW_WORDS[join.how],
        keys=tuple(f"{as_written(a)} = {as_written(b)}" for a, b in pairs),
        window=f"within one window: {said.window}" if within else said.window,
        before_us=on.before_us,
        after_us=on.after_us,
        match=match_words(stage.spec, None if on.picked_by is None else pql_sql(on.picked_by)),
        counted=counted,
        finds=_finds(program, join) if on.is_theta else _emitted(said),
        within=within,
        left_alias=table_as_written(left),
        right_alias=table_as_written(right),
    )


def _emitted(said: KindWords) -> tuple[str, ...]:
    return () if said.emits is None else (said.emits, f"joins {said.joins}")


def _finds(program: Program, join: JoinView) -> tuple[str, ...]:
    """The access path of a theta join, in the words of its text."""
    names = join.names
    conditions = filters(program, join).on
    environment = environment_of(join.query, relation_types(program))
    known = [node for node in conditions if is_evaluated(node, names, environment)]
    bands, rest = bands_in(known, names, environment)
    compiled = [node for node in rest if is_compiled(node, names, environment)]
    after = [as_written(node) for node in conditions if node not in known]
    return tuple(
        access_words(
            [found_band_words(band) for band in bands],
            [as_written(node) for node in compiled],
            [as_written(node) for node in rest if node not in compiled],
            after,
            timed=join.options.rows is None,
        )
    )


def _origin(table: CreateInput) -> str:
    origin = table.origin
    match origin:
        case ScribeSource(category):
            return f'category "{category}"'
        case KafkaSource(topic=topic, brokers=brokers):
            return f'topic "{topic}" at {brokers}'
        case LakeSource() | TableSource():
            return origin.place
    return f'{origin.format} files "{origin.path}"'


def _storage(storage: Storage) -> str:
    if storage.category is not None:
        return f'category "{storage.category}"'
    if storage.kind in SINKS:
        return OutsideSink(storage.kind, storage.values).place
    path = storage.get("path")
    return f'{storage.kind.lower()} files "{path}"' if path is not None else storage.kind.lower()
