"""Advice on an application's joins, numbered, and the query with the advice applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.changes.rewrite import Compile
    from dovetail.plan.physical import Plan
    from dovetail.plan.statements import Program
    from dovetail.service.advice import Advice
    from dovetail.service.setting_advice import SettingAdvice


@dataclass(frozen=True)
class Numbered:
    number: int
    join: str
    advice: Advice | SettingAdvice


def numbered_advice(home: str, application: str) -> list[Numbered]:
    from dovetail.service.metrics import measured

    joins = measured(home, application).joins
    every = [(join.measure.name, advice) for join in joins for advice in join.advice]
    return [Numbered(number, join, advice) for number, (join, advice) in enumerate(every, 1)]


def following(home: str, application: str, text: str, name: str, chosen: Sequence[Numbered]) -> str:
    """The text as advised. `name`: what errors call it."""
    from dovetail.service.proposal import proposal

    def compiled(changed: str) -> tuple[Program, Plan]:
        made = proposal(home, changed, name, application)
        return made.program, made.plan

    for one in chosen:
        text = _written(text, one, compiled)
    return text


def _written(text: str, one: Numbered, compiled: Compile) -> str:
    """With one bound, or one option of the view."""
    from dovetail.changes.rewrite import Bounds, with_bounds
    from dovetail.changes.rewrite_option import with_option
    from dovetail.service.advice import Advice

    advice = one.advice
    if not isinstance(advice, Advice):
        return with_option(text, one.join, advice.option, advice.to, advice.literal, compiled)
    spec = next(join.spec for join in compiled(text)[1].joins if join.name == one.join)
    to = {"before": spec.before_us, "after": spec.after_us, advice.bound: advice.to_us}
    return with_bounds(text, Bounds(one.join, to["before"], to["after"]), compiled)
