"""Other bounds for a join, written into the query's own text: one literal changes, and everything else stays
as its author wrote it.

A bound can be written in many ways: BETWEEN or two comparisons, either stream first, any unit. So nothing is
parsed for it. Each place that could be the bound is changed in turn, and the one is taken with which the
query means exactly what is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from dovetail.errors import DovetailError, PlanError
from dovetail.plan.application_file import stable
from dovetail.plan.interval_literal import NotAnInterval, text_us, words
from dovetail.plan.physical import JoinStage, Plan, Stage
from dovetail.plan.source import Span, span_of
from dovetail.plan.statements import CreateView, Program

Compile = Callable[[str], tuple[Program, Plan]]
_LITERAL = re.compile(r"\bINTERVAL\s+(?:'([^']*)'|(\d+(?:\.\d+)?))(?:\s+([a-z]+)\b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Bounds:
    """For the join of a name."""

    join: str
    before_us: int
    after_us: int


def with_bounds(text: str, wanted: Bounds, compile_: Compile) -> str:
    """The text with these bounds; as it is if it has them. PlanError if no single change of a literal gives
    them."""
    for now in ("before_us", "after_us"):
        text = _with_one(text, wanted, now, compile_)
    return text


def _with_one(text: str, wanted: Bounds, bound: str, compile_: Compile) -> str:
    program, plan = compile_(text)
    join = next((stage for stage in plan.joins if stage.name == wanted.join), None)
    if join is None:
        raise _by_hand(wanted, f"the query has no join {wanted.join}")
    more_us = getattr(wanted, bound) - getattr(join.spec, bound)
    if not more_us:
        return text
    meant = _meaning(plan, join, bound, getattr(wanted, bound))
    for changed in _changed(text, program, more_us):
        try:
            if _meaning(compile_(changed)[1]) == meant:
                return changed
        except DovetailError:
            continue  # that was no place for it
    raise _by_hand(wanted, f"no interval of the query is the bound {bound.removesuffix('_us')} alone")


def _changed(text: str, program: Program, more_us: int) -> Iterator[str]:
    """The text with another literal in one place; or with one where there is none."""
    for found in _LITERAL.finditer(text):
        value = found[1] if found[1] is not None else found[2]
        try:
            is_us = text_us(f"{value} {found[3]}" if _is_unit(value, found[3]) else value)
        except NotAnInterval:
            continue
        unit = found[3] if _is_unit(value, found[3]) else None
        stop = found.end(3) if unit else found.end(1) + 1 if found[1] is not None else found.end(2)
        for new_us in (is_us + more_us, is_us - more_us):
            if new_us >= 0:
                yield f"{text[: found.start()]}{found[0][:8]} '{words(new_us)}'{text[stop:]}"
    for place in _columns(program):
        for sign in "+-":
            yield f"{text[: place.stop]} {sign} INTERVAL '{words(abs(more_us))}'{text[place.stop :]}"


def _is_unit(value: str, word: str | None) -> bool:
    """Whether the word after a number is its unit, and not the next word of the query."""
    if word is None or not re.fullmatch(r"\s*[+-]?[\d.]+\s*", value):
        return False
    try:
        text_us(f"1 {word}")
    except NotAnInterval:
        return False
    return True


def _columns(program: Program) -> Iterator[Span]:
    """Columns in the conditions of joins."""
    for statement in program:
        if isinstance(statement, CreateView) and isinstance(statement.query, exp.Expr):
            for join in statement.query.find_all(exp.Join):
                condition = join.args.get("on")
                for column in condition.find_all(exp.Column) if condition is not None else ():
                    if (place := span_of(column)) is not None:
                        yield place


def _meaning(plan: Plan, join: JoinStage | None = None, bound: str = "", us: int = 0) -> object:
    """For a plan; with another bound of one of its joins."""

    def follow(stage: Stage) -> Stage:
        if join is None or stage != join:
            return stage
        return replace(join, join_kind=join.join_kind.resized({bound: us}))

    return stable(replace(plan, stages=tuple(follow(stage) for stage in plan.stages)))


def _by_hand(wanted: Bounds, why: str) -> PlanError:
    return PlanError(
        f"the bounds of join {wanted.join} cannot be written into the query: {why}",
        expected="a bound that is one interval, such as a.t - INTERVAL '10 minutes'",
        hint=f"change the text by hand so that the right row is at most {words(wanted.before_us)} before and "
        f"{words(wanted.after_us)} after the left one, then `dovetail run` it",
    )
