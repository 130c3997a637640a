"""One side of a join as PQL: the slicer that writes its category, and the input table that the join reads.

Paper, section 4.2: the slicer's view selects the key and time expressions of the ON clause, then the columns
of its side. Its table writes all of them to a new category, sharded by the key. Both sides of a key get the
same type, and times are TIMESTAMPs. A theta join has no key; the operands of its conditions are written
instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dovetail.model.compression import Compression
from dovetail.plan.dialect import call, cast_to
from dovetail.plan.joins.columns import Carried
from dovetail.plan.joins.condition import JoinCondition
from dovetail.plan.physical import ScribeSource
from dovetail.plan.source import Span
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Statement,
    into_log,
)
from dovetail.plan.tree import as_written, column, named, passed_on, select
from dovetail.plan.types import INCOMPARABLE, Environment, common_type, family, head, is_timestamp, type_of


@dataclass(frozen=True)
class SideNames:
    """The names of one side's relations."""

    rows: str
    slicer: str
    input: str
    category: str


@dataclass(frozen=True)
class JoinSide:
    """`relation` is what the side reads."""

    names: SideNames
    relation: str
    keys: list[exp.Expr]
    time: exp.Expr
    payload: list[Carried]
    conditions: list[exp.Expr]
    span: Span | None
    operands: list[exp.Expr] = field(default_factory=list)  # of a theta join's conditions

    def slicer(self, buckets: int, compression: Compression | None) -> list[Statement]:
        keys = [f"_key_{i}" for i in range(len(self.keys))]
        items = [named(key, name) for name, key in zip(keys, self.keys, strict=True)]
        items.extend(named(operand, f"_on_{i}") for i, operand in enumerate(self.operands))
        items.append(named(self.time, "_time"))
        items.extend(named(carried.expression, carried.name) for carried in self.payload)
        rows = CreateView(self.names.rows, select(items, self.relation, self.conditions), span=self.span)
        # Rows without a key need no buckets: tasks share them out by row number.
        shard = call("xxhash64", *(column(key) for key in keys)) if keys else None
        storage = into_log(self.names.category, shard, buckets if keys else 1, compression)
        passed = passed_on([item.alias for item in items], self.names.rows)
        return [rows, CreateTable(self.names.slicer, select(passed, self.names.rows), storage, self.span)]

    def input(self, environment: Environment) -> CreateInput:
        columns = [ColumnDef(f"_key_{i}", type_of(key, environment)) for i, key in enumerate(self.keys)]
        columns.extend(
            ColumnDef(f"_on_{i}", type_of(operand, environment)) for i, operand in enumerate(self.operands)
        )
        columns.append(ColumnDef("_time", "TIMESTAMP"))
        columns.extend(ColumnDef(c.name, type_of(c.expression, environment)) for c in self.payload)
        return CreateInput(self.names.input, tuple(columns), ScribeSource(self.names.category), self.span)


def keys_of_one_type(
    program: Program, condition: JoinCondition, environment: Environment
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Keys hash the same only in one type. If the two sides differ, both are cast to the wider one."""
    left_keys, right_keys = [], []
    for left, right in zip(condition.left_keys, condition.right_keys, strict=True):
        types = type_of(left, environment), type_of(right, environment)
        for key, type_ in zip((left, right), types, strict=True):
            if type_ is not None and head(type_) in INCOMPARABLE:
                raise program.plan_error(
                    f"a {head(type_)} cannot be a key: {as_written(key)} is {type_}",
                    key,
                    expected="values that Spark can compare: numbers, texts, times, structs",
                    hint="use a part of it, or turn it into text: to_json(..)",
                )
        if types[0] is not None and types[1] is not None and types[0] != types[1]:
            common = common_type(types[0], types[1])
            if common is None:
                raise program.plan_error(
                    f"the two sides of the key can never be equal: {as_written(left)} is {types[0]}, "
                    f"{as_written(right)} is {types[1]}",
                    right,
                    expected="types of one kind",
                    hint=f"cast one side: CAST({as_written(left)} AS {types[1]}) = {as_written(right)}",
                )
            left_keys.append(left if types[0] == common else cast_to(left, common))
            right_keys.append(right if types[1] == common else cast_to(right, common))
        else:
            left_keys.append(left)
            right_keys.append(right)
    return left_keys, right_keys


def time_as_timestamp(program: Program, time: exp.Expr, environment: Environment) -> exp.Expr:
    """The window's time expression, with a cast if it is not known to be a TIMESTAMP."""
    type_ = type_of(time, environment)
    if type_ is not None and is_timestamp(type_):
        return time
    if type_ is None or family(type_) in ("time", "string"):
        return cast_to(time, "TIMESTAMP")
    text = as_written(time)
    numeric = family(type_) == "number"
    raise program.plan_error(
        f"the window needs times, but {text} is {type_}",
        time,
        expected="a TIMESTAMP",
        hint=f"seconds since 1970 become a time with timestamp_seconds({text}), or with timestamp_millis"
        if numeric
        else f"write CAST({text} AS TIMESTAMP)",
    )
