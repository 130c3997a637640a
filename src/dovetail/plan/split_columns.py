"""Which expressions of a join's select list are evaluated where (paper, section 4.2).

An expression over left columns only, or over none, is safe before an inner, left, semi or anti join, and
the left slicer evaluates it under its final name. One that reads the right side may see the nulls of a
non-match, so its raw columns are carried through the join as `_r_<column>` (and `_l_<column>`) and it is
evaluated after. Where the join may null the left side too (right, full), nothing is evaluated before it.
A column that is only renamed leaves the join under its final name, so that Spark has nothing to do after it.
Columns keep the order of the select list, and nothing is pruned: both make the wire format stable under
updates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dovetail.model.interval import JoinType
from dovetail.plan.join_condition import side_of

RESERVED = ("_l_", "_r_", "_key_", "_time", "_hash")
"""Names of columns that the planner gives itself in intermediate categories."""


@dataclass(frozen=True)
class Carried:
    """One column that passes through the join: its name in the category of its side, its expression before
    the join, and its name after."""

    name: str
    side: str
    expression: exp.Expr
    joined: str


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
        side = side_of(node, self.left, self.right)
        if side in (None, "left") and self.how in ("inner", "left", "semi", "anti"):
            self.carried[name] = Carried(name, "left", node.copy(), name)
            return exp.column(name, table=self.joined, quoted=True)
        return self._carry(node, name) if isinstance(node, exp.Column) else self.after(node)

    def after(self, node: exp.Expr) -> exp.Expr:
        """The same expression over carried raw columns."""
        return node.copy().transform(
            lambda part: self._carry(part) if isinstance(part, exp.Column) else part, copy=False
        )

    def _carry(self, column: exp.Column, joined: str | None = None) -> exp.Column:
        """A raw column after the join; `joined` is what to call it there if nothing has named it yet."""
        side = "left" if column.table.lower() == self.left.lower() else "right"
        name = f"_{side[0]}_{column.name}"
        carried = self.carried.setdefault(name, Carried(name, side, column.copy(), joined or name))
        return exp.column(carried.joined, table=self.joined, quoted=True)

    def of_side(self, side: str) -> list[Carried]:
        return [column for column in self.carried.values() if column.side == side]
