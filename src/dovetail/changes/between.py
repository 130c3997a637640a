"""Two versions of an application side by side, and what the rules have found so far."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from dovetail.changes.costs import ChangeCosts, Unknown
from dovetail.changes.verdict import Change, Cost, Verdict
from dovetail.plan.physical import (
    CategoryOutput,
    InputTable,
    JoinStage,
    Plan,
    SlicerStage,
    Stage,
    WindowStage,
)
from dovetail.plan.source import Span, span_of
from dovetail.plan.statements import CreateTable, CreateView, Program
from dovetail.slicing.standing import Standing


class Beginning(NamedTuple):
    """Where a new source begins, in words. `standing`: how much of it counts as read, if that is known."""

    words: str
    standing: Standing | None = None


class NewSource(NamedTuple):
    """An input that comes from another source. `name`: the input, as the query calls it. `table`: what the
    stage reads. `intake`: the stage that takes a topic, or a table of a lake, into the log for it."""

    name: str
    table: InputTable
    intake: SlicerStage | None = None


Begins = Callable[[SlicerStage, NewSource], Beginning | None]
OTHER_NAME = (
    "give the join another name=, and the query that reads it another checkpoint: it begins with what its "
    'inputs have; to let out first what the old one holds, call that once more with mode="drain"'
)
"""The way where DataFrames are joined: they have no views and tables that could have other names."""


@dataclass
class Between:
    """`old_text` and `new_text` are the programs as written, where there are any: a join of DataFrames has
    none, and releases before versions did not keep it. `begins`: where a new source begins; None if that is
    not said. `costs`: what it costs to read something. `reslice`: rows in flight are wanted as the new query
    makes them. `curable`: refusals that do not hold for a join that begins afresh."""

    old: Plan
    new: Plan
    old_text: Program | None = None
    new_text: Program | None = None
    begins: Begins = lambda stage, source: None
    costs: ChangeCosts = field(default_factory=Unknown)
    reslice: bool = False
    curable: list[Change] = field(default_factory=list)
    found: list[Change] = field(default_factory=list)

    @property
    def plans(self) -> tuple[Plan, Plan]:
        return self.old, self.new

    @property
    def joins_dataframes(self) -> bool:
        return any(not slicer.inputs for slicer in self.new.slicers)

    def say(
        self,
        rule: str,
        part: str,
        verdict: Verdict,
        what: str,
        *,
        flight: str | None = None,
        cost: Cost | None = None,
        instead: str | None = None,
        place: str | None = None,
        curable: bool = False,
    ) -> None:
        if verdict == "refused" and self.joins_dataframes:
            instead = OTHER_NAME
        self.found.append(Change(rule, part, verdict, what, flight, cost, instead, place))
        if curable:
            self.curable.append(self.found[-1])

    def place_of_column(self, column: str, *statements: str) -> str | None:
        """Where a column is selected: in the new text, or if it is gone in the old one. The statements are
        searched first."""
        for program in (self.new_text, self.old_text):
            if program is None:
                continue
            order = sorted(
                (s for s in program if isinstance(s, CreateView | CreateTable)),
                key=lambda s: s.name not in statements,
            )
            for statement in order:
                for item in getattr(statement.query, "expressions", ()):
                    if item.output_name.lower() == column.lower():
                        return _shown(program, item)
        return None

    def place_of_option(self, view: str, *names: str) -> str | None:
        for program in (self.new_text, self.old_text):
            statement = program.get(view) if program is not None else None
            for option in getattr(statement, "options", ()):
                if option.name in names and option.span is not None:
                    assert program is not None
                    return program.source.show(option.span)
        return self.place_of(view)

    def place_of_join(self, view: str) -> str | None:
        """The condition of a view's join."""
        program = self.new_text
        statement = program.get(view) if program is not None else None
        joins = getattr(getattr(statement, "query", None), "args", {}).get("joins") or []
        condition = joins[0].args.get("on") if joins else None
        return (
            _shown(program, condition)
            if program is not None and condition is not None
            else self.place_of(view)
        )

    def place_of_filter(self, *names: str) -> str | None:
        for program in (self.new_text, self.old_text):
            for name in names:
                statement = program.get(name) if program is not None else None
                where = getattr(getattr(statement, "query", None), "args", {}).get("where")
                if where is not None:
                    assert program is not None
                    return _shown(program, where.this)
        return next((place for name in names if (place := self.place_of(name))), None)

    def place_of(self, name: str) -> str | None:
        """Where a statement begins."""
        for program in (self.new_text, self.old_text):
            statement = program.get(name) if program is not None else None
            if program is not None and statement is not None and statement.span is not None:
                return program.source.show(Span(statement.span.start, statement.span.start + 1))
        return None

    def place_of_application(self) -> str | None:
        program = self.new_text
        return None if program is None else program.source.show(program.application_span)

    def place_of_time_zone(self) -> str | None:
        """Where it is set: in the new text, or if it is no longer set in the old one."""
        for program in (self.new_text, self.old_text):
            if program is not None and program.time_zone_span is not None:
                return program.source.show(program.time_zone_span)
        return None


def part_of(stage: Stage) -> str:
    """A stage, as people call it."""
    match stage:
        case JoinStage():
            return f"join {stage.name}"
        case WindowStage():
            return f"aggregate {stage.table}"
        case SlicerStage():
            for side in ("left", "right"):
                if stage.name.endswith(f".{side}"):
                    return f"{side} side of {stage.name.removesuffix(f'.{side}')}"
            return f"table {stage.name}" if not stage.name.endswith(".rows") else f"rows of {stage.name[:-5]}"


def view_of(stage: Stage) -> str:
    """The statement that a stage belongs to."""
    name = stage.table if isinstance(stage, WindowStage) else stage.name
    for suffix in (".left", ".right", ".rows"):
        name = name.removesuffix(suffix)
    return name


def writer_of(plan: Plan, category: str) -> Stage | None:
    """The stage that a category comes from."""
    outputs = ((stage, stage.output) for stage in plan.stages)
    return next((s for s, to in outputs if isinstance(to, CategoryOutput) and to.category == category), None)


def named(sql: str) -> str:
    """Columns of a side, as the query calls them."""
    return re.sub(r"(?<![A-Za-z0-9_])_[lr]_", "", sql)


def _shown(program: Program, node: exp.Expr) -> str | None:
    span = span_of(node)
    return None if span is None else program.source.show(span)
