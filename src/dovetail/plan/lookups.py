"""Which joins of a query are lookups: those with a table that CREATE LOOKUP TABLE declares."""

from __future__ import annotations

from sqlglot import exp

from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import Lookup, TableSource
from dovetail.plan.statements import CreateInput, Program, Statement, is_join
from dovetail.plan.tree import as_written, conjuncts
from dovetail.plan.types import Environment, common_type, type_of

AS_OF = "system_time_as_of"
"""`FOR SYSTEM_TIME AS OF time` as a condition of ON."""
NOW = ("current_timestamp", "now", "proctime")
"""As of these is as of now."""


def lookup_table(program: Program, name: str) -> CreateInput | None:
    """The lookup table of that name."""
    found = program.get(name)
    return found if isinstance(found, CreateInput) and isinstance(found.origin, TableSource) else None


def is_lookup(program: Program, join: exp.Join) -> bool:
    return isinstance(join.this, exp.Table) and lookup_table(program, join.this.name) is not None


def looks_up(program: Program, statement: Statement) -> bool:
    """A view with a lookup join."""
    return is_join(statement) and any(is_lookup(program, join) for join in statement.query.args["joins"])


def as_of(join: exp.Join) -> exp.Expr | None:
    """The condition of a join that says as of when, if there is one."""
    on = join.args.get("on")
    return next((node for node in conjuncts(on) if function_name(node) == AS_OF), None) if on else None


def time_of(condition: exp.Expr) -> exp.Expr:
    return arguments(condition)[0]


def lookup_lines(lookup: Lookup) -> tuple[str, ...]:
    """For people: what is looked up, and in what."""
    spec, source = lookup.spec, lookup.source
    keys = " and ".join(f"{key.stream} = {key.table}" for key in spec.keys)
    when = "as of now" if spec.as_of is None else f"as of {spec.as_of}, by {spec.valid_from}"
    until = f" until {spec.valid_to}" if spec.valid_to else ""
    return (
        f"{spec.how} lookup by {keys}",
        f"{when}{until}; broadcast of at most {source.get('max_bytes') / (1 << 20):,.1f} MiB",
        f"read again after {words(source.get('refresh'))}",
    )


def key_type(program: Program, left: exp.Expr, right: exp.Expr, environment: Environment) -> str:
    """The type in which a key of the stream and one of the table are compared."""
    mine, theirs = type_of(left, environment), type_of(right, environment)
    assert theirs is not None, "columns of a lookup table are declared with their types"
    common = theirs if mine is None or mine == theirs else common_type(mine, theirs)
    if common is None:
        raise program.plan_error(
            f"the two sides of the key can never be equal: {as_written(left)} is {mine}, "
            f"{as_written(right)} is {theirs}",
            right,
            expected="types of one kind",
            hint=f"cast the stream's side: CAST({as_written(left)} AS {theirs}) = {as_written(right)}",
        )
    return common
