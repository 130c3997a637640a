"""A join in words, for people."""

from __future__ import annotations

from dovetail.model.interval import IntervalSpec
from dovetail.plan.interval_literal import words

HOW_WORDS = {
    "inner": "INNER JOIN",
    "left": "LEFT OUTER JOIN",
    "right": "RIGHT OUTER JOIN",
    "full": "FULL OUTER JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}


def window_words(before_us: int, after_us: int) -> str:
    """`3 minutes before to 3 minutes after`: where right rows lie around a left row."""
    return f"{_place(-before_us)} to {_place(after_us)}"


def _place(us: int) -> str:
    if us == 0:
        return "the same time"
    return f"{words(abs(us))} {'after' if us > 0 else 'before'}"


def match_words(spec: IntervalSpec) -> str:
    return "every partner" if spec.match == "all" else f"one partner, the {spec.pick}"
