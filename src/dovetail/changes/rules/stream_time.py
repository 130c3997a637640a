"""How far a stream's time is behind its newest events: from the next step on.

Stream time never goes back. With a longer delay it stands still until the stream has come that far; rows that
were closed by the shorter one stay closed.
"""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import JoinStage, Stage, WindowStage

OPTIONS = ("max_delay", "left_max_delay", "right_max_delay", "stream_time", "percentile")


def stream_time(between: Between, old: Stage, new: Stage) -> Stage:
    if isinstance(old, JoinStage) and isinstance(new, JoinStage):
        was, now = old.settings, new.settings
        for side, before, after in (
            ("left", was.left_max_delay_us, now.left_max_delay_us),
            ("right", was.right_max_delay_us, now.right_max_delay_us),
        ):
            if before != after and now.estimate is None and was.estimate is None:
                _say(
                    between,
                    new,
                    f"delay of the {side} stream: {words(before)}, now {words(after)}",
                    after > before,
                )
        if was.estimate != now.estimate:
            _say(between, new, f"stream time: {_kind(was.estimate)}, now {_kind(now.estimate)}", True)
        return replace(
            old,
            settings=replace(
                was,
                left_max_delay_us=now.left_max_delay_us,
                right_max_delay_us=now.right_max_delay_us,
                estimate=now.estimate,
            ),
        )
    if isinstance(old, WindowStage) and isinstance(new, WindowStage):
        # An aggregate's settings follow from the joins below it, which have said what changed.
        return replace(old, settings=new.settings)
    return old


def _say(between: Between, stage: JoinStage, what: str, later: bool) -> None:
    flight = "stream time never goes back"
    if later:
        flight += (
            ": it stands still until the stream has come that far, and rows that were closed stay closed"
        )
    between.say(
        "stream_time",
        part_of(stage),
        "next step",
        what,
        flight=flight,
        place=between.place_of_option(view_of(stage), *OPTIONS),
    )


def _kind(estimate: object) -> str:
    return "fixed" if estimate is None else f"percentile {getattr(estimate, 'percentile', '')}".strip()
