"""PQL text -> physical plan, and the steps in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dovetail.plan.build import build, unread_warnings
from dovetail.plan.consumers import unread
from dovetail.plan.dialect import deep_trees
from dovetail.plan.fuse_chains import fuse_chains
from dovetail.plan.physical import CategoryOutput, Plan
from dovetail.plan.rules import RULES, Rule
from dovetail.plan.rules.share_sides import share_sides
from dovetail.plan.rules.split_joins import split_joins
from dovetail.plan.statements import ColumnDef, CreateInput, Program, Statement
from dovetail.plan.types import spark_type
from dovetail.pql.parser import parse

SourceSchemas = Mapping[str, Mapping[str, str]]
"""Input table -> column -> Spark type, where the source knows them."""

Steps = Sequence[tuple[str, Program]]
"""The program as written, then after each rule, with the rule's name."""


def compile_pql(text: str, *, name: str = "<string>", source_schemas: SourceSchemas | None = None) -> Plan:
    """The plan of an application, or every error in its text that can be found without running it."""
    return compile_program(parse(text, name=name), source_schemas)


def compile_program(program: Program, source_schemas: SourceSchemas | None = None) -> Plan:
    return plans_of(trace_program(program, source_schemas))[0]


def plans_of(steps: Steps, before: Plan | None = None) -> list[Plan]:
    """The plan of a traced program, then other plans for it: those that earlier releases made, and those
    whose joins share their sides, or have categories of their own, as in the plan before. A running
    application goes on with the one that changes least (`changes/compare.py`)."""
    programs = dict(steps)
    with deep_trees():
        apart, shared = build(programs["split_joins"]), build(programs["share_sides"])
        made = [fuse_chains(shared), shared, apart]
        if before is not None:
            known = build(share_sides(programs["split_joins"], _sharing(before)))
            made += [fuse_chains(known), known]
            if apart_before := _apart(before, made[0]):
                unsplit = next(one for (_, one), (name, _) in pairwise(steps) if name == "split_joins")
                again = split_joins(before_rule(split_joins, unsplit), apart_before)
                made.append(fuse_chains(build(share_sides(again, _sharing(before))), apart_before))
    found: list[Plan] = []
    for plan in made:
        if plan not in found:
            found.append(plan)
    return found


def _apart(before: Plan, now: Plan) -> set[str]:
    """Joins whose rows went to a category of their own, and would be sliced for their only reader now. What
    that has read is in the category."""
    stored, sliced = (
        {
            join.name
            for join in plan.joins
            if isinstance(join.output, CategoryOutput) and (join.output.time is not None) is timed
        }
        for plan, timed in ((before, False), (now, True))
    )
    return stored & sliced


def _sharing(before: Plan) -> Callable[[str], str]:
    """The category that a side had in a plan; new joins share among themselves."""
    known: dict[str, str] = {}
    for join in before.joins:
        own = f"{before.application}.{join.name}"
        known |= {f"{own}.left": join.left, f"{own}.right": join.right}
    return lambda category: known.get(category, "")


def trace(
    text: str, *, name: str = "<string>", source_schemas: SourceSchemas | None = None
) -> list[tuple[str, Program]]:
    """The program as written, then after each rule, with the rule's name."""
    return trace_program(parse(text, name=name), source_schemas)


def trace_program(program: Program, source_schemas: SourceSchemas | None = None) -> list[tuple[str, Program]]:
    program = with_source_types(program, source_schemas or {})
    steps = [("parse", program)]
    with deep_trees():
        for rule in RULES:
            program = rule(before_rule(rule, program))
            steps.append((rule.__name__, program))
    return steps


def before_rule(rule: Rule, program: Program) -> Program:
    """Before the split, what no table reads is left out, with a warning."""
    if rule is not split_joins:
        return program
    idle = unread(program)
    if idle:
        split_joins(program)  # report errors in views that do not run, too
    kept = [statement for statement in program if not any(statement is other for other in idle)]
    return program.with_statements(kept).warn(*unread_warnings(program))


def with_source_types(program: Program, schemas: SourceSchemas) -> Program:
    """Fills in undeclared columns and types that the source knows. Declared ones stay."""
    known = {
        table.lower(): {column.lower(): type_ for column, type_ in columns.items()}
        for table, columns in schemas.items()
    }
    made: list[Statement] = []
    for statement in program:
        if isinstance(statement, CreateInput) and statement.name.lower() in known:
            types = known[statement.name.lower()]
            declared = statement.columns or _columns(schemas, statement)
            columns = tuple(
                replace(c, type=c.type or _canonical(types.get(c.name.lower()))) for c in declared
            )
            made.append(replace(statement, columns=columns))
        else:
            made.append(statement)
    return program.with_statements(made)


def _columns(schemas: SourceSchemas, table: CreateInput) -> tuple[ColumnDef, ...]:
    """All columns that the source of an input table has."""
    found = next(columns for name, columns in schemas.items() if name.lower() == table.name.lower())
    return tuple(ColumnDef(name, None, table.span) for name in found)


def _canonical(type_: str | None) -> str | None:
    return None if type_ is None else spark_type(type_) or type_.upper()
