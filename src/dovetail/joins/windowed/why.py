"""What became of left rows of a windowed join, by key."""

from __future__ import annotations

from dovetail.joins.picking import Picking, picking_of
from dovetail.joins.question import Answer, Question, answer_by_key
from dovetail.joins.windowed.fate import window_fates
from dovetail.model.interval import IntervalSpec


def explain(question: Question) -> Answer:
    left, right = question.categories

    def picking(spec: IntervalSpec) -> Picking | None:
        return picking_of(spec, left.schema, right.schema, question.names)

    return answer_by_key(question, lambda known, wanted: window_fates(known, wanted, picking))
