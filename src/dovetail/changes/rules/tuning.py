"""Settings that decide how a join runs, not what it means: they hold from the next step on."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.model.join_settings import HISTORY_US, Pacing
from dovetail.model.validity import Validity
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import JoinStage, Stage

_NAMES = {
    "max_step_rows": "max_step_rows",
    "tasks": "tasks",
    "pacing": "pacing",
    "idle_timeout_us": "idle_timeout",
    "validity": "max_ahead",
    "splits_hot_keys": "hot_keys",
    "history_us": "history",
    "history_bytes": "history_bytes",
    "confirmed_by": "confirmed_by",
}
_NEW_DEFAULT = ("history_us", 3_600_000_000, HISTORY_US)
"""If a new release keeps more by default, that is no change of the query."""


def tuning(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    for name, option in _NAMES.items():
        was, now = getattr(old.settings, name), getattr(new.settings, name)
        if was != now and (name, was, now) != _NEW_DEFAULT:
            between.say(
                "tuning",
                part_of(new),
                "next step",
                f"{option}: {_said(name, was)}, now {_said(name, now)}",
                place=between.place_of_option(view_of(new), option),
            )
    inherited = {"left_inherits", "right_inherits"}  # follows from the inputs
    return replace(
        old,
        settings=replace(
            old.settings, **{name: getattr(new.settings, name) for name in _NAMES.keys() | inherited}
        ),
    )


def _said(name: str, value: object) -> str:
    if value is None:
        return "one per core" if name == "tasks" else "none" if name == "idle_timeout_us" else "off"
    if isinstance(value, Validity):
        return words(value.max_ahead_us)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Pacing):
        return f"on, with a slack of {words(value.slack_us)}"
    return words(int(str(value))) if name.endswith("_us") else str(value)
