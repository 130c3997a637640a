"""A replay that is under way, in words: the same for the live view and `dovetail status`."""

from __future__ import annotations

from dovetail.service import units


def replay_words(share: float, rows_per_s: float, left_s: float | None) -> str:
    said = f"replaying the right window: {int(share * 100)} %, {units.count(round(rows_per_s))} rows/s"
    return said if left_s is None else f"{said}, {units.span(max(1, round(left_s)) * 1_000_000)} left"
