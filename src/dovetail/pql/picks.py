"""`MAX(r.price)`, `MIN(abs(r.price - l.limit))`: a pick by value, as text has it."""

from __future__ import annotations

import re
from typing import get_args

from sqlglot import exp

from dovetail.errors import DovetailError, PlanError
from dovetail.model.interval import ValuePick
from dovetail.plan.dialect import pql_sql
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.source import PqlText
from dovetail.pql.select import parse_expression
from dovetail.pql.tokens import scan

_PICKS: dict[str, ValuePick] = {pick: pick for pick in get_args(ValuePick)}
_CALL = re.compile(r"\s*(max|min)\s*\(", re.IGNORECASE)


def pick_in(text: object) -> tuple[ValuePick, exp.Expr] | None:
    """The pick by value in a text of its own, whose sides are called `left` and `right`; None: the text is
    none."""
    if not isinstance(text, str) or not _CALL.match(text):
        return None
    source = PqlText("dovetail.join, pick=", text)
    try:
        return pick_by_value(parse_expression(source, scan(source), len(text), ("left", "right")))
    except DovetailError as error:
        error.where = error.where or "dovetail.join, pick="
        raise


def pick_by_value(node: exp.Expr) -> tuple[ValuePick, exp.Expr] | None:
    """Whether the largest or the smallest value is wanted, and of what; None: it is no pick by value."""
    pick = _PICKS.get(function_name(node) or "")
    if pick is None:
        return None
    given = arguments(node)
    if len(given) != 1 or isinstance(given[0], (exp.Star, exp.Distinct)):
        raise PlanError(
            f"`{pql_sql(node)[:80]}` does not compare one value for each partner",
            expected=f"one expression, such as {pick.upper()}(r.price)",
            hint="greatest(..) and least(..) take several values of a partner" if len(given) > 1 else None,
        )
    return pick, given[0]
