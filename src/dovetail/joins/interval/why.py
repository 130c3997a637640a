"""What became of left rows of an interval join, by key."""

from __future__ import annotations

from dovetail.joins.interval.fate import fates
from dovetail.joins.question import Answer, Question, answer_by_key


def explain(question: Question) -> Answer:
    return answer_by_key(question, fates)
