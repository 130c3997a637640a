"""Joins without an equality: their operands, and their condition as data.

    before the split    ON abs(l.x - r.a) <= 10 AND soundex(l.name) <> r.code AND window
    after it            ON abs(l._on_0 - r._on_0) <= 10 AND l._on_1 <> r._on_1 AND window

The left slicer writes `x AS _on_0, soundex(name) AS _on_1`: Spark evaluates whatever reads only one side,
before the join. What the join cannot evaluate itself, Spark evaluates after it, where that is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.share import Side
from dovetail.model.theta import Band, Theta
from dovetail.model.theta import Term as ThetaTerm
from dovetail.plan.dialect import pql_sql
from dovetail.plan.joins.bands import FoundBand, bands_in
from dovetail.plan.joins.condition import JoinView
from dovetail.plan.joins.expressions import FUNCTIONS, expression_of, is_evaluated, operands_out
from dovetail.plan.statements import Program
from dovetail.plan.tree import Signed, as_written, column
from dovetail.plan.types import Environment


@dataclass
class SlicedOperands:
    """The columns that each side's slicer writes for the conditions, in the order they are met."""

    relations: dict[str, str]  # the name of each side in the join
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
    join: JoinView,
    conditions: Sequence[exp.Expr],
    environment: Environment,
    operands: SlicedOperands,
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The conditions over operands, for the join, and those that only Spark can evaluate, for after it."""
    on, after = [], []
    for condition in conditions:
        if is_evaluated(condition, join.names, environment):
            on.append(operands_out(condition, join.names, environment, operands.column))
        elif join.how == "inner" and join.options.match == "all":
            after.append(condition)
        else:
            raise _not_known(program, join, condition)
    return on, after


def theta_of(join: JoinView, environment: Environment) -> Theta:
    """The condition over operands as data."""

    def side(of: exp.Column) -> Side:
        return "left" if of.table.lower() == join.left.lower() else "right"

    condition = join.condition
    conditions = (*condition.left_only, *condition.right_only, *condition.both)
    bands, rest = bands_in(conditions, join.names, environment)
    plain = [band for band in bands if _is_plain(band)]
    rest += [node for band in bands if not _is_plain(band) for node in band.spelled]
    return Theta(
        tuple(
            Band(
                _terms(band.left),
                _terms(band.right),
                band.low,
                band.high,
                tuple(expression_of(node, side) for node in band.spelled),
            )
            for band in plain
        ),
        tuple(expression_of(node, side) for node in rest),
        join.options.rows,
        join.options.order or "none",
    )


def _is_plain(band: FoundBand) -> bool:
    return all(isinstance(term, exp.Column) for _, term in (*band.left, *band.right))


def _terms(terms: Sequence[Signed]) -> tuple[ThetaTerm, ...]:
    return tuple(ThetaTerm(sign, term.name) for sign, term in terms)


def _not_known(program: Program, join: JoinView, condition: exp.Expr) -> PlanError:
    how = join.how.upper()
    kind = f"a {how} join" if how != "INNER" else f'a join with match = "{join.options.match}"'
    return program.plan_error(
        f"`{as_written(condition)[:80]}` reads both sides, and the join cannot evaluate it",
        condition,
        expected="comparisons, AND, OR, NOT, arithmetic, CASE, IN, BETWEEN, IS NULL, or one of "
        + ", ".join(FUNCTIONS),
        hint=f"{kind} must evaluate it when rows meet; an INNER join that returns all partners can do so "
        "afterwards. Any function of Spark may be applied to one side only",
    )
