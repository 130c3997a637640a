"""Which expressions of a join's select list are evaluated where (paper, section 4.2).

The left slicer evaluates an expression over left columns only, or over none, under its final name, if the
join is inner, left, semi or anti. An expression that reads the right side may see the nulls of a non-match,
so its raw columns are carried through the join as `_r_<column>` (and `_l_<column>`) and it is evaluated
after. A right or full join may replace the left side with nulls too, so nothing is evaluated before it.
Columns keep the order of the select list, and none is pruned: both keep the wire format stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dovetail.model.interval import JoinType
from dovetail.plan.functions import function_name
from dovetail.plan.joins.windows import BOUNDS, reads_bounds
from dovetail.plan.tree import column, side_of

RESERVED_STARTS = ("_l_", "_r_", "_w_", "_key_", "_on_")
RESERVED = ("_time", "_hash")
"""Column names that the planner uses in intermediate categories."""


@dataclass(frozen=True)
class Carried:
    """One column of the join's output: the side it comes from, and its expression before the join. The side
    "window" is a bound of the window, which the join itself fills in."""

    name: str
    side: str
    expression: exp.Expr


@dataclass
class SplitColumns:
    """`carried`: the columns that pass through the join, in wire order."""

    left: str
    right: str
    how: JoinType
    joined: str
    carried: dict[str, Carried] = field(default_factory=dict)

    def item(self, name: str, node: exp.Expr) -> exp.Expr:
        """The expression after the join of one item of the select list."""
        side = "both" if reads_bounds(node) else side_of(node, self.left, self.right)
        if side in (None, "left") and self.how in ("inner", "left", "semi", "anti"):
            self.carried[name] = Carried(name, "left", node.copy())
            return column(name, self.joined)
        return self.after(node)

    def after(self, node: exp.Expr) -> exp.Expr:
        """The same expression over carried raw columns."""

        def carry(part: exp.Expr) -> exp.Expr:
            if function_name(part) in BOUNDS:
                side, name = "window", f"_w_{str(function_name(part)).removeprefix('window_')}"
            elif isinstance(part, exp.Column):
                side = "left" if part.table.lower() == self.left.lower() else "right"
                name = f"_{side[0]}_{part.name}"
            else:
                return part
            self.carried.setdefault(name, Carried(name, side, part.copy()))
            return column(name, self.joined)

        return node.copy().transform(carry, copy=False)

    def of_side(self, side: str) -> list[Carried]:
        return [column for column in self.carried.values() if column.side == side]
