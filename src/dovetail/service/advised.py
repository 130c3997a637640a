"""Advice on an application's joins, numbered, and the query that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.changes.rewrite import Bounds
    from dovetail.model.interval import IntervalSpec
    from dovetail.plan.physical import Plan
    from dovetail.plan.statements import Program
    from dovetail.service.advice import Advice


@dataclass(frozen=True)
class Numbered:
    number: int
    join: str
    advice: Advice


def numbered_advice(home: str, application: str) -> list[Numbered]:
    from dovetail.service.metrics import measured

    joins = measured(home, application).joins
    every = [(join.measure.name, advice) for join in joins for advice in join.advice]
    return [Numbered(number, join, advice) for number, (join, advice) in enumerate(every, 1)]


def following(home: str, application: str, text: str, name: str, chosen: Sequence[Numbered]) -> str:
    """The text with the bounds that were advised. `name`: what errors call it."""
    from dovetail.changes.rewrite import with_bounds
    from dovetail.service.proposal import proposal

    def compiled(changed: str) -> tuple[Program, Plan]:
        made = proposal(home, changed, name, application)
        return made.program, made.plan

    for one in chosen:
        spec = next(join.spec for join in compiled(text)[1].joins if join.name == one.join)
        text = with_bounds(text, _wanted(one, spec), compiled)
    return text


def _wanted(one: Numbered, spec: IntervalSpec) -> Bounds:
    from dovetail.changes.rewrite import Bounds

    to = {"before": spec.before_us, "after": spec.after_us, one.advice.bound: one.advice.to_us}
    return Bounds(one.join, to["before"], to["after"])
