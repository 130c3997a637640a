"""What the operands of a theta join were in the query: `_on_0` of the left side was `l.x`.

Read from the SQL of the slicers, which the plan has, as text: who asks about a row need not load a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dovetail.model.share import Side
from dovetail.model.theta import Operand
from dovetail.plan.physical import JoinStage, Plan, SlicerStage

_OPERAND = re.compile(r"(.+) AS `(_on_\d+)`", re.DOTALL)


def operand_words(plan: Plan, stage: JoinStage) -> dict[Operand, str]:
    """As they are written, without the quotes of names."""
    found = {}
    writers: list[SlicerStage | JoinStage] = [*plan.slicers, *plan.joins]
    for slicer in writers:
        category = getattr(slicer.output, "category", None)
        if category not in (stage.left, stage.right):
            continue
        side: Side = "left" if category == stage.left else "right"
        for view in slicer.views:
            for column in _columns(view.sql.removeprefix("SELECT ")):
                if match := _OPERAND.match(column):
                    found[Operand(side, match[2])] = match[1].replace("`", "")
    return found


def _columns(sql: str) -> Iterator[str]:
    """The parts of a select list: what commas part that are in no brackets or quotes."""
    depth, quote, start = 0, "", 0
    for at, letter in enumerate(sql):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'`\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        elif letter == "," and depth == 0:
            yield sql[start:at].strip()
            start = at + 1
    yield sql[start:].strip()
