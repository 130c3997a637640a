"""Everything that can be found in a PQL text without running it: all errors, or a summary of what would run.

A statement with an error is dropped, with everything that reads it, and the later rules check the rest. So
one call finds all errors, and no error is only a consequence of another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from dovetail.errors import DovetailError
from dovetail.plan.build import build
from dovetail.plan.delays import late_warnings
from dovetail.plan.dialect import deep_trees
from dovetail.plan.fuse_chains import fuse_chains
from dovetail.plan.physical import Plan
from dovetail.plan.problems import ProblemsFound
from dovetail.plan.rules import RULES
from dovetail.plan.rules.split_windows import split_windows
from dovetail.plan.statements import CreateInput, CreateTable, Program, Statement, reads
from dovetail.pql.compile import SourceSchemas, before_rule, with_source_types
from dovetail.pql.parser import parse_all
from dovetail.pql.summary import Summary, summarise


@dataclass(frozen=True)
class Report:
    """Errors, or a plan with its summary."""

    errors: tuple[DovetailError, ...]
    warnings: tuple[str, ...]
    plan: Plan | None
    summary: Summary | None

    @property
    def ok(self) -> bool:
        return not self.errors

    def to_json(self) -> dict[str, Any]:
        if not self.ok:
            return {"ok": False, "errors": [_error_json(error) for error in self.errors]}
        assert self.summary is not None
        return {"ok": True, **self.summary.to_json(), "warnings": list(self.warnings)}

    def with_findings(self, errors: Iterable[DovetailError], warnings: Iterable[str]) -> Report:
        """The report with what else was found, for example about the inputs."""
        found = tuple(sorted((*self.errors, *errors), key=_place))
        if not found:
            return replace(self, warnings=(*self.warnings, *warnings))
        return Report(found, (*self.warnings, *warnings), None, None)


def _error_json(error: DovetailError) -> dict[str, Any]:
    """With the place in the text as numbers, where the error has one."""
    line, column = _place(error)
    return {**error.to_json()["error"], "line": line or None, "column": column or None}


def check(text: str, *, name: str = "<string>", source_schemas: SourceSchemas | None = None) -> Report:
    with deep_trees():
        return _check(text, name, source_schemas)


def _check(text: str, name: str, source_schemas: SourceSchemas | None) -> Report:
    parsed = parse_all(text, name=name)
    errors = [error for _, error in parsed.problems.found]
    program = with_source_types(parsed.program, source_schemas or {})
    program = replace(program, application=program.application or "application")
    program = without(program, parsed.broken)
    lost = bool(parsed.broken) or bool(errors and not program.statements)
    before_split = program
    for rule in RULES:
        before_split = program if rule is split_windows else before_split  # the first that splits
        while True:
            try:
                program = rule(before_rule(rule, program))
                break
            except ProblemsFound as found:
                at_fault = {statement for statement, _ in found.found if statement is not None}
                errors.extend(e for statement, e in found.found if statement is not None or not lost)
                if not at_fault:
                    break
                lost = True
                program = without(program, at_fault)
    plan = None
    if not errors or any(isinstance(statement, CreateTable) for statement in program):
        try:
            plan = fuse_chains(build(program))
        except ProblemsFound as found:
            errors.extend(found.errors)
    errors = sorted({str(error): error for error in errors}.values(), key=_place)
    if errors or plan is None:
        return Report(tuple(errors), program.warnings, None, None)
    return Report((), (*plan.warnings, *late_warnings(plan)), plan, summarise(before_split, plan))


def _place(error: DovetailError) -> tuple[int, int]:
    """Errors are reported in the order of the text, those about the whole text first."""
    found = re.search(r":(\d+):(\d+)(\n|$)", error.where or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def calls(statement: Statement) -> set[str]:
    """Names of the functions that a statement calls, in lower case."""
    if isinstance(statement, CreateInput):
        return set()
    return {str(call.this).lower() for call in statement.query.find_all(exp.Anonymous)}


def without(program: Program, names: Collection[str]) -> Program:
    """The program without the named statements, what calls a function of these names, and everything that
    reads them."""
    gone = {name.lower() for name in names}
    gone |= {s.name.lower() for s in program if calls(s) & gone}
    while True:
        reading = {s.name.lower() for s in program if any(name.lower() in gone for name in reads(s))} - gone
        if not reading:
            break
        gone |= reading
    return program.with_statements([s for s in program if s.name.lower() not in gone])
