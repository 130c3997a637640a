"""A stage that others follow as writers of a category promises nothing more.

A category promises the smallest time that its writers promise (`log/commit.py`). One that has stopped writing
would hold its readers back for ever. Law: in one commit its promise passes to those who write there now, and
it ends. So a reader's time stands still until they promise more, and never runs ahead of their first rows.
"""

from __future__ import annotations

from dovetail.log.category import Category, list_categories
from dovetail.plan.build import written_category
from dovetail.plan.physical import Plan
from dovetail.plan.stage_promises import promised_columns


def pass_promises_on(home: str, plan: Plan) -> None:
    """By a plan that counts and does not run yet. Done again, it changes nothing."""
    there = set(list_categories(home))
    for name in {written_category(stage) for stage in plan.stages}:
        if name is None or name not in there:
            continue
        writers = [stage for stage in plan.stages if written_category(stage) == name]
        heirs = {f"{plan.application}.{stage.name}" for stage in writers}
        category = Category.open(home, name)
        stop = category.next_commit()
        promises = category.commit(stop - 1).promises if stop else {}
        mine = {producer for producer in promises if producer.startswith(f"{plan.application}.")}
        columns = {column.name for stage in writers for column in promised_columns(stage)}
        category.pass_promises_on(mine - heirs, heirs, columns)
