"""Which stage passes stream time on, and how: the columns that each stage can promise something about.

A join knows its two stream times, and so what its output's times cannot be below any more. An aggregate knows
which windows have closed. A slicer knows what the categories that it reads promise. What a column has to do
with these origins is in the SQL between:

    a column that is passed on, plus or minus an interval, date_trunc, CAST    one origin, shifted
    COALESCE, LEAST, GREATEST, IF, CASE, UNION ALL                             one of several

Law: each value of a column is within [low, high] of one of its origins, and that origin is not null in its
row. A promise about the column is then the smallest of the origins' promises, each with its `low`. Any other
expression is an origin of its own, about which nobody promises anything.

Of a row that a join holds, only its side's `_time` is known. Another column of the side is promised by its
distance from that time, if both come from origins whose distance is known: a right row is within the bounds
of its left partner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from dovetail.model.promise import PromisedColumn, TimeTerm
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import UNIT_US, NotAnInterval, interval_us
from dovetail.plan.physical import (
    CategoryOutput,
    JoinStage,
    Plan,
    Relation,
    ScribeSink,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
)

SIDE_TIME = "_time"
WINDOW_START, WINDOW_END = "window_start", "window_end"


class Branch(NamedTuple):
    """A value is at least `low_us` and at most `high_us` after an origin; None: it may be any time after."""

    origin: str
    low_us: int
    high_us: int | None


Form = tuple[Branch, ...]
"""A value is of one of these."""
Columns = Mapping[str, Form]
"""By column, in lower case. Columns of which nothing is known are missing."""
Distance = Callable[[str, str], int | None]
"""The least difference between the first origin and the second in one row; None: not known."""


@dataclass(frozen=True)
class _Written:
    """What is known of the columns of a category."""

    columns: Columns
    origins: Distance
    promising: frozenset[str]  # origins about which somebody may promise something

    def distance(self, one: str, other: str) -> int | None:
        """The least that column `one` is after column `other` in a row that has both."""
        found = []
        for a in self.columns.get(one.lower(), ()):
            for b in self.columns.get(other.lower(), ()):
                apart = self.origins(a.origin, b.origin)
                if apart is None or b.high_us is None:
                    return None
                found.append(a.low_us + apart - b.high_us)
        return min(found, default=None)


def with_promises(plan: Plan) -> Plan:
    """The plan, each of whose outputs says what can be promised about it, and each of whose joins inherits
    the time of a side that is promised any."""
    written: dict[str, _Written] = {}
    stages: list[Stage] = []
    for planned in plan.stages:
        stage: Stage
        match planned:
            case JoinStage():
                stage, made = inheriting(planned, stages), _of_join(planned, written)
            case WindowStage():
                stage, made = _following(planned, stages), _of_windows(planned)
            case SlicerStage():
                stage, made = planned, _of_slicer(planned, written)
        output = stage.output
        if isinstance(output, CategoryOutput | ScribeSink):
            written[output.category] = made
            names = _names(stage)
            promises = tuple(
                PromisedColumn(names.get(column, column), _terms(form))
                for column, form in made.columns.items()
                if all(branch.origin in made.promising for branch in form)
            )
            stage = replace(stage, output=replace(output, promises=promises))
        stages.append(stage)
    return replace(plan, stages=tuple(stages))


def _terms(form: Form) -> tuple[TimeTerm, ...]:
    """The lowest shift of each origin."""
    lows: dict[str, int] = {}
    for branch in form:
        lows[branch.origin] = min(branch.low_us, lows.get(branch.origin, branch.low_us))
    return tuple(TimeTerm(origin, low_us) for origin, low_us in lows.items())


def _able(before: Sequence[Stage]) -> set[str]:
    """The categories whose commits can promise something about the time of their rows."""
    return {
        output.category
        for output in (other.output for other in before)
        if isinstance(output, CategoryOutput) and any(one.name == SIDE_TIME for one in output.promises)
    }


def _following(stage: WindowStage, before: Sequence[Stage]) -> WindowStage:
    """An aggregate goes by what its rows are promised, if they can be."""
    return replace(stage, settings=replace(stage.settings, inherits=stage.rows in _able(before)))


def inheriting(stage: JoinStage, before: Sequence[Stage]) -> JoinStage:
    """A side inherits its time only from an input that can promise any."""
    able = _able(before)
    settings = replace(
        stage.settings,
        left_inherits=stage.settings.left_inherits and stage.left in able,
        right_inherits=stage.settings.right_inherits and stage.right in able,
    )
    return replace(stage, settings=settings)


def _of_join(stage: JoinStage, written: Mapping[str, _Written]) -> _Written:
    sides = {"left": stage.left, "right": stage.right}
    columns: dict[str, Form] = {}
    for column in stage.columns:
        side = written.get(sides.get(column.side, ""))
        if side is None:
            continue
        low_us, early_us = side.distance(column.source, SIDE_TIME), side.distance(SIDE_TIME, column.source)
        if low_us is not None:
            high_us = None if early_us is None else -early_us
            columns[column.name.lower()] = (Branch(column.side, low_us, high_us),)
    apart = stage.join_kind.apart

    def distance(one: str, other: str) -> int | None:
        if one == other:
            return 0
        if apart is None or not {one, other} <= sides.keys():  # an expression is an origin of its own
            return None
        return -apart.before_us if one == "right" else -apart.after_us

    known: dict[str, Columns] = {stage.source_name.lower(): columns}
    return _Written(_through(stage, known), distance, frozenset(sides))


def _of_slicer(stage: SlicerStage, written: Mapping[str, _Written]) -> _Written:
    """Origins are columns of inputs, as `table.column`. Those of categories may be promised something."""
    known: dict[str, Columns] = {
        table.name.lower(): {
            column.name.lower(): (Branch(f"{table.name}.{column.name}", 0, 0),) for column in table.columns
        }
        for table in stage.inputs
    }
    categories = {
        table.name: table.source.category for table in stage.inputs if isinstance(table.source, ScribeSource)
    }
    promising = frozenset(
        f"{table.name}.{column.name}"
        for table in stage.inputs
        if table.name in categories
        for column in table.columns
        if column.type is None or column.type.upper().startswith("TIMESTAMP")
    )

    def distance(one: str, other: str) -> int | None:
        if one == other:
            return 0
        if one not in promising or other not in promising:
            return None
        (table, a), (same, b) = one.split(".", 1), other.split(".", 1)
        category = written.get(categories[table])
        return category.distance(a, b) if category and table == same else None

    return _Written(_through(stage, known), distance, promising)


def _of_windows(stage: WindowStage) -> _Written:
    """Origins are the bounds of the windows that are still to close."""
    query = _parsed(stage.select)
    bounds = {"start": WINDOW_START, "end": WINDOW_END}
    columns: dict[str, Form] = {}
    for item in query.expressions if isinstance(query, exp.Select) else ():
        path = [part.name.lower() for part in item.unalias().find_all(exp.Identifier)]
        inner = item.unalias()
        if isinstance(inner, exp.Column | exp.Dot) and stage.window_name.lower() in path:
            bound = bounds.get(inner.name.lower())
            if bound is not None:
                columns[item.alias_or_name.lower()] = (Branch(bound, 0, 0),)
    length_us = None if stage.window.is_session else stage.window.length_us

    def distance(one: str, other: str) -> int | None:
        if one == other:
            return 0
        if length_us is None:
            return 0 if one == WINDOW_END else None
        return length_us if one == WINDOW_END else -length_us

    return _Written(columns, distance, frozenset(bounds.values()))


def origin_column(stage: SlicerStage, origin: str) -> tuple[str, str]:
    """The category and column that an origin of a slicer stands for."""
    name, column = origin.split(".", 1)
    source = next(table.source for table in stage.inputs if table.name == name)
    assert isinstance(source, ScribeSource)
    return source.category, column


def _through(stage: SlicerStage | JoinStage, known: Mapping[str, Columns]) -> Columns:
    """What is known of a stage's output, given what is known of the relations that its SQL begins with."""
    if not stage.select:
        return {}
    relations = dict(known)
    for view in (*stage.views, Relation("", stage.select)):
        relations[view.name.lower()] = _selected(_parsed(view.sql), relations)
    return relations[""]


def _names(stage: Stage) -> dict[str, str]:
    """The output columns of a stage, as written, by their names in lower case."""
    query = _parsed(stage.select)
    return {name.lower(): name for name in query.named_selects} if isinstance(query, exp.Query) else {}


def _parsed(sql: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(sql, dialect="spark") if sql else None
    except sqlglot.ParseError:  # Spark will report it
        return None


def _selected(query: exp.Expr | None, relations: Mapping[str, Columns]) -> Columns:
    if isinstance(query, exp.Union):
        one, other = (_selected(part, relations) for part in (query.this, query.expression))
        names = list(zip(query.this.named_selects, query.expression.named_selects, strict=False))
        pairs = [(a.lower(), b.lower()) for a, b in names]
        return {a: (*one[a], *other[b]) for a, b in pairs if a in one and b in other}
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("joins"):
        return {}
    source = query.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table):
        return {}
    columns = relations.get(table.name.lower(), {})
    return {item.alias_or_name.lower(): _form(item, columns) for item in query.expressions}


def _form(node: exp.Expr, columns: Columns) -> Form:
    if isinstance(node, exp.Alias | exp.Paren):
        return _form(node.this, columns)
    if isinstance(node, exp.Column) and node.name.lower() in columns:
        return columns[node.name.lower()]
    if isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEMPORAL_TYPES:
        return _form(node.this, columns)
    if isinstance(node, exp.Add | exp.Sub) and (shifted := _shifted(node, columns)):
        return shifted
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        unit_us = UNIT_US.get(str(node.args["unit"].name).lower())
        if unit_us is not None:
            return tuple(Branch(o, low - unit_us, high) for o, low, high in _form(node.this, columns))
    parts = [_form(part, columns) for part in _alternatives(node) if not isinstance(part, exp.Null)]
    return tuple(branch for part in parts for branch in part) or (Branch(f"={node.sql()}", 0, 0),)


def _shifted(node: exp.Add | exp.Sub, columns: Columns) -> Form:
    sums = [(node.this, node.expression)]
    if isinstance(node, exp.Add):
        sums.append((node.expression, node.this))
    for time, length in sums:
        try:
            by_us = interval_us(length) if isinstance(node, exp.Add) else -interval_us(length)
        except NotAnInterval:
            continue
        return tuple(
            Branch(o, low + by_us, None if high is None else high + by_us)
            for o, low, high in _form(time, columns)
        )
    return ()


def _alternatives(node: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions of which a value is one."""
    if isinstance(node, exp.Case | exp.If):
        branches = node.args.get("ifs") or [node]
        yield from (branch.args["true"] for branch in branches)
        otherwise = node.args.get("default") or node.args.get("false")
        if otherwise is not None:
            yield otherwise
    elif isinstance(node, exp.Coalesce | exp.Least | exp.Greatest) or function_name(node) in (
        "coalesce",
        "least",
        "greatest",
        "ifnull",
        "nvl",
    ):
        yield from arguments(node)
