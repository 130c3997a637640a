"""What an alarm looks at: an application now, its last minutes, and what is usual at this hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

RECENT_S = 900.0
SERVICE, SILENT = "service", "silent"
"""The daemon itself, as an application that is looked at."""


@dataclass(frozen=True)
class Usual:
    """A figure at this hour of the days before: its median, and how far the days were from it."""

    middle: float
    spread: float


@dataclass(frozen=True)
class Look:
    """`figures`: as the run has measured itself, None if it has not lately. `recent`: a few numbers over the
    last quarter of an hour, oldest first, as `overview.py` sums them up. `lost`: what the log no longer has
    and the application still needs, in words. `scaler`: why it cannot do more. `mending`: it has just done
    something."""

    application: str
    wanted: str
    condition: str
    why: str
    figures: dict[str, Any] | None = None
    recent: Sequence[tuple[float, dict[str, Any]]] = ()
    match_rate: Usual | None = None
    memory_bytes: int = 0
    lost: str | None = None
    scaler: str | None = None
    mending: bool = False

    @property
    def joins(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (self.figures or {}).get("joins", [])
        return found

    def gained(self, name: str) -> float:
        """By how much a total has grown in the last quarter of an hour; 0 if it began again."""
        values = [figures[name] for _, figures in self.recent if figures.get(name) is not None]
        return max(0.0, values[-1] - values[0]) if len(values) > 1 else 0.0
