"""One side of a join as PQL: the slicer that writes its category, and the input table that the join reads.

Paper, section 4.2: the slicer's view selects first the key and time expressions of the ON clause, then the
columns of its side; its table writes all of them to a new category, sharded by the key. A theta join has no
key: what its conditions read is written instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dovetail.model.compression import Compression
from dovetail.plan.dialect import call
from dovetail.plan.expression_types import Environment, type_of
from dovetail.plan.joins.columns import Carried
from dovetail.plan.source import Span
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Scribe,
    Statement,
    Storage,
)
from dovetail.plan.tree import column, named, passed_on, select


@dataclass(frozen=True)
class SideNames:
    """What the split calls the relations of one side."""

    rows: str
    slicer: str
    input: str
    category: str


@dataclass(frozen=True)
class JoinSide:
    """`relation` is what the side read before the split."""

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
        # Rows without a key need no buckets: tasks take them by their number.
        shard = call("xxhash64", *(column(key) for key in keys)) if keys else None
        storage = Storage("SCRIBE", self.names.category, shard, buckets if keys else 1, compression)
        passed = passed_on([item.alias for item in items], self.names.rows)
        return [rows, CreateTable(self.names.slicer, select(passed, self.names.rows), storage, self.span)]

    def input(self, environment: Environment) -> CreateInput:
        columns = [ColumnDef(f"_key_{i}", type_of(key, environment)) for i, key in enumerate(self.keys)]
        columns.extend(
            ColumnDef(f"_on_{i}", type_of(operand, environment)) for i, operand in enumerate(self.operands)
        )
        columns.append(ColumnDef("_time", "TIMESTAMP"))
        columns.extend(ColumnDef(c.name, type_of(c.expression, environment)) for c in self.payload)
        return CreateInput(self.names.input, tuple(columns), Scribe(self.names.category), self.span)
