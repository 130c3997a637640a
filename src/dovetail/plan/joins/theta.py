"""Joins without an equality, planned: what they may be, their operands, and the condition as data.

    before the split    ON abs(l.x - r.a) <= 10 AND soundex(l.name) <> r.code AND window
    after it            ON abs(l._on_0 - r._on_0) <= 10 AND l._on_1 <> r._on_1 AND window

The left slicer writes `x AS _on_0, soundex(name) AS _on_1`: what reads one side only is Spark's to
evaluate, before the join. What the join does not know itself is evaluated after it, where that is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.model.share import Side
from dovetail.model.theta import Band, Theta
from dovetail.model.theta import Term as ThetaTerm
from dovetail.plan.dialect import pql_sql
from dovetail.plan.expression_types import Environment
from dovetail.plan.joins.bands import FoundBand, Signed, bands_in
from dovetail.plan.joins.condition import JoinCondition
from dovetail.plan.joins.expressions import FUNCTIONS, NotEvaluated, expression_of, operands_out
from dovetail.plan.joins.options import WITHOUT_EQUALITY, JoinOptions
from dovetail.plan.statements import CreateView, Program
from dovetail.plan.tree import column

BY_KEY = ("left_cap", "right_cap", "hot_keys", "buckets")
"""Options that speak of keys, or of the buckets that keys fall into."""
BY_TIME = ("pacing", "slack", "horizon")
"""Options that have no meaning where rows are counted, whatever their time."""


def check_options(
    program: Program, view: CreateView, condition: JoinCondition, how: JoinType, given: JoinOptions
) -> None:
    """Refuses what does not go together."""
    named = {option.name: option for option in view.options}
    if not condition.is_theta:
        for name in WITHOUT_EQUALITY:
            if name in named:
                raise program.plan_error(
                    f"`{name}` is for joins without an equality, and this one has one",
                    named[name].span,
                    hint=f"leave `{name}` out",
                )
        return
    if not (condition.both or condition.left_only or condition.right_only):
        raise program.plan_error(
            "the join has no equality, and no other condition between the two sides",
            view.query.args["joins"][0].args["on"],
            expected="an equality, such as l.key = r.key, or any condition, such as abs(l.x - r.a) <= 10",
            hint="if every pair within the window is meant, say so: AND l.key IS NOT NULL",
        )
    if how in ("right", "full"):  # of RIGHT ones only those with match = "one" come here
        one = ' with match = "one"' if how == "right" else ""
        raise program.plan_error(
            f"a {how.upper()} join without an equality{one} is not available",
            view.query.args["joins"][0].args["on"],
            expected="INNER, LEFT OUTER, LEFT SEMI or LEFT ANTI JOIN, or an equality between the two sides",
            hint="a LEFT OUTER JOIN gives what belongs to the left side, a LEFT ANTI JOIN with the sides "
            "changed over the lone rows of the other",
        )
    for name in BY_KEY if given.rows is None else (*BY_KEY, *BY_TIME):
        if name in named:
            why = "has no equality, and so no keys" if name in BY_KEY else "counts rows, whatever their time"
            raise program.plan_error(
                f"`{name}` is given, but the join {why}", named[name].span, hint=f"leave `{name}` out"
            )
    if given.rows is not None and given.match == "one" and given.pick != "first":
        raise program.plan_error(
            f'pick = "{given.pick}" chooses by event time, and the join counts rows, whatever their time',
            named["pick"].span,
            expected='pick = "first"',
            hint="leave `pick` out, or use a window of event time",
        )


@dataclass
class Operands:
    """The columns that each side's slicer writes for the conditions, in the order they are met."""

    relations: dict[str, str]  # what the join calls each side
    found: dict[str, dict[str, exp.Expr]] = field(default_factory=lambda: {"left": {}, "right": {}})

    def column(self, side: str, expression: exp.Expr) -> exp.Expr:
        known = self.found[side]
        text = pql_sql(expression)
        known.setdefault(text, expression.copy())
        return column(f"_on_{list(known).index(text)}", self.relations[side])

    def of(self, side: str) -> list[exp.Expr]:
        return list(self.found[side].values())


def rewritten(
    program: Program,
    conditions: Sequence[exp.Expr],
    names: tuple[str, str],
    environment: Environment,
    operands: Operands,
    how: JoinType,
    match: str,
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The conditions over operands, for the join; and those that it does not know, for after it."""
    on, after = [], []
    for condition in conditions:
        try:
            expression_of(operands_out(condition, names, environment, _any_column), _any_side)
        except NotEvaluated as unknown:
            if how != "inner" or match != "all":
                raise _not_known(program, condition, unknown.node, how, match) from None
            after.append(condition)
        else:
            on.append(operands_out(condition, names, environment, operands.column))
    return on, after


def is_known(condition: exp.Expr, names: tuple[str, str], environment: Environment) -> bool:
    """Whether the join evaluates a condition itself."""
    try:
        expression_of(operands_out(condition, names, environment, _any_column), _any_side)
    except NotEvaluated:
        return False
    return True


def theta_of(
    condition: JoinCondition, left: str, right: str, given: JoinOptions, environment: Environment
) -> Theta:
    """The condition over operands as data."""

    def side(of: exp.Column) -> Side:
        return "left" if of.table.lower() == left.lower() else "right"

    conditions = (*condition.left_only, *condition.right_only, *condition.both)
    bands, rest = bands_in(conditions, left, right, environment)
    return Theta(
        tuple(
            Band(
                _terms(band.left),
                _terms(band.right),
                band.low,
                band.high,
                tuple(expression_of(node, side) for node in band.spelled),
            )
            for band in bands
            if _plain(band)
        ),
        tuple(
            expression_of(node, side)
            for node in (*rest, *(node for band in bands if not _plain(band) for node in band.spelled))
        ),
        given.rows,
        given.order or "none",
    )


def _plain(band: FoundBand) -> bool:
    return all(isinstance(term, exp.Column) for _, term in (*band.left, *band.right))


def _terms(terms: Sequence[Signed]) -> tuple[ThetaTerm, ...]:
    return tuple(ThetaTerm(sign, term.name) for sign, term in terms)


def _any_column(side: str, _: exp.Expr) -> exp.Expr:
    return column("_on_0", side)


def _any_side(of: exp.Column) -> Side:
    return "left" if of.table == "left" else "right"


def _not_known(
    program: Program, condition: exp.Expr, unknown: exp.Expr, how: JoinType, match: str
) -> PlanError:
    kind = f"a {how.upper()} join" if how != "inner" else f'a join with match = "{match}"'
    return program.plan_error(
        f"`{pql_sql(unknown)[:60]}` reads both sides, and the join does not know how to evaluate it",
        condition,
        expected="comparisons, AND, OR, NOT, arithmetic, CASE, IN, BETWEEN, IS NULL, or one of "
        + ", ".join(FUNCTIONS),
        hint=f"{kind} has to know it when rows meet; an INNER join that gives all partners would evaluate it "
        "afterwards. Calls that read one side only may be any of Spark's",
    )
