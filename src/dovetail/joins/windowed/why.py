"""What became of left rows of a windowed join, by key."""

from __future__ import annotations

from dovetail.joins.question import Answer, Question, answer_by_key
from dovetail.joins.windowed.fate import window_fates


def explain(question: Question) -> Answer:
    return answer_by_key(question, window_fates)
