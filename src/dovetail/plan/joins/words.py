"""A join in words, for people."""

from __future__ import annotations

from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.window_join import WindowJoin
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.asked_window import EAGER_BECAUSE, lazy_because

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


def windows_words(window: WindowJoin) -> str:
    """`tumbling, 10 seconds`: which windows rows of both sides are in."""
    if window.shape == "session":
        return f"session, gap {words(window.length_us)}, at most {words(window.longest_us)}"
    every = f" every {words(window.every_us)}" if window.shape == "hopping" else ""
    return f"{window.shape}, {words(window.length_us)}{every}"


def emit_words(window: WindowJoin, how: JoinType) -> str:
    """How pairs come out, and why so."""
    why = EAGER_BECAUSE if window.emit == "eager" else lazy_because(window.shape, how)
    return f"{window.emit}: {why}"


def algorithm_words(window: WindowJoin) -> str:
    """What joins rows."""
    if window.emit == "eager":
        return "by probing the rows that are held"
    return "by npj, prj, mway or mpass, as keys are"


def _place(us: int) -> str:
    if us == 0:
        return "the same time"
    return f"{words(abs(us))} {'after' if us > 0 else 'before'}"


def match_words(spec: IntervalSpec) -> str:
    return "every partner" if spec.match == "all" else f"one partner, the {spec.pick}"
