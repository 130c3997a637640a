"""A category that several joins read, or one join as both of its sides.

Law: nothing is removed from it that a join of the plan has not read. A join that has not run yet has left no
mark in the log, and another that reads the category would let retention remove what both need. So all of them
leave their marks when the category is made.
"""

from __future__ import annotations

from dovetail.log.category import Category
from dovetail.plan.physical import JoinStage, Plan


def joins_of(plan: Plan, category: str) -> list[JoinStage]:
    return [join for join in plan.joins if category in (join.left, join.right)]


def reserve(plan: Plan, category: Category, application: str | None) -> None:
    """Let each join of a shared category start from its first commit. One that has a mark keeps it."""
    joins = joins_of(plan, category.name)
    if len(joins) < 2:
        return
    known = category.readers()
    for join in joins:
        reader = f"{plan.application}.{join.name}"
        if reader not in known:
            category.set_reader(reader, category.first_commit(), application=application)
