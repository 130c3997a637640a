"""A table that joins a category with a lookup table, as a stage: the stream's columns are its select, and
what is looked up is added to them."""

from __future__ import annotations

from sqlglot import exp

from dovetail.connectors.lookup_table import VALID_FROM, VALID_TO
from dovetail.model.lookup import LookedUp, LookupKey, LookupSpec
from dovetail.plan.dialect import spark_sql
from dovetail.plan.functions import function_name
from dovetail.plan.lookups import AS_OF, key_type, time_of
from dovetail.plan.physical import Column, InputTable, Lookup, Output, SlicerStage, TableSource
from dovetail.plan.scope import environment_of, relation_types
from dovetail.plan.statements import CreateInput, CreateTable, Program
from dovetail.plan.tree import conjuncts, select


def lookup_stage(
    program: Program, table: CreateTable, name: str, stream: InputTable, outside: CreateInput, output: Output
) -> SlicerStage:
    """As the rule `look_up` makes such tables: both sides of a key and the time are columns."""
    source = outside.origin
    assert isinstance(source, TableSource)
    join: exp.Join = table.query.args["joins"][0]
    environment = environment_of(table.query, relation_types(program))
    keys, as_of = [], None
    for node in conjuncts(join.args["on"]):
        if function_name(node) == AS_OF:
            as_of = time_of(node).name
        else:
            kind = key_type(program, node.this, node.expression, environment)
            keys.append(LookupKey(node.this.name, node.expression.name, kind))
    relations = [(item, item.find(exp.Column)) for item in table.query.selects]
    mine = [item for item, found in relations if found is not None and found.table == stream.name]
    theirs = [item for item in table.query.selects if item not in mine]
    since, until = ((source.get(one.name) or (None,))[0] for one in (VALID_FROM, VALID_TO))
    spec = LookupSpec(
        "left" if join.side.upper() == "LEFT" else "inner",
        tuple(keys),
        tuple(LookedUp(item.output_name, item.unalias().name) for item in theirs),
        as_of,
        since if as_of else None,
        until if as_of else None,
    )
    columns = tuple(Column(column.name, column.type) for column in outside.columns)
    looked_up = Lookup(outside.name, columns, source, spec)
    passed = spark_sql(select(mine, stream.name))
    return SlicerStage(name, (stream,), (), passed, output, lookup=looked_up)
