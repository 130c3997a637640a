"""Two windows in words that show how they differ."""

from __future__ import annotations

from dovetail.model.time_window import TimeWindow
from dovetail.model.window_join import WindowJoin
from dovetail.plan.interval_literal import words

Window = TimeWindow | WindowJoin


def windows_words(was: Window, now: Window) -> str:
    """`hopping of 10 minutes every 5 minutes, now hopping of 10 minutes every 2 minutes`"""
    return f"{_words(was, now)}, now {_words(now, was)}"


def _words(window: Window, other: Window) -> str:
    said = [f"{window.shape} of {words(window.length_us)}"]
    if window.shape == "hopping":
        said.append(f"every {words(window.every_us)}")
    if isinstance(window, TimeWindow) and isinstance(other, TimeWindow) and window.start_us != other.start_us:
        said.append(f"from {words(window.start_us)}")
    if isinstance(window, WindowJoin) and isinstance(other, WindowJoin) and _sessions(window, other):
        said.append(f"for up to {words(window.longest_us)}")
    return " ".join(said)


def _sessions(window: WindowJoin, other: WindowJoin) -> bool:
    """Whether they are cut after different times."""
    return window.shape == other.shape == "session" and window.longest_us != other.longest_us
