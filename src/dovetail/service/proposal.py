"""A proposed query for an application: what it would change, before anything is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dovetail.changes.positions import Position
    from dovetail.changes.verdict import Change
    from dovetail.plan.application_file import Current
    from dovetail.plan.physical import Plan
    from dovetail.plan.statements import Program


@dataclass(frozen=True)
class Proposal:
    """`plan`: what the application would run by, with what it takes over from the plan before; joins that
    would begin afresh are over the categories that are there."""

    program: Program
    current: Current
    plan: Plan
    changes: list[Change]


def proposal(
    home: str,
    text: str,
    name: str,
    application: str | None = None,
    positions: Mapping[str, Position] | None = None,
    *,
    reslice: bool = False,
) -> Proposal:
    """`name`: what errors call the text. `application`: if it is not the one that the text names. The others:
    see `consider`."""
    from dovetail.changes.takeover import carried, changes_to, program_of
    from dovetail.plan.application_file import read_current
    from dovetail.pql.compile import plans_of, trace_program
    from dovetail.pql.parser import parse
    from dovetail.spark.inputs import known_types

    program = parse(text, name=name)
    application = application or program.application
    current = read_current(home, application)
    plans = plans_of(trace_program(program, known_types(program, home)), current.plan)
    before = program_of(home, application, current.version)
    plan, changes = changes_to(home, current, plans, before, program, positions or {}, reslice=reslice)
    return Proposal(program, current, carried(current.plan, plan), changes)
