"""An application as the service sees it: what is wanted, what the keeper makes of it, what the run measured.

Figures come from the file that a run writes every few seconds, so a list of many applications costs a small
file for each.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import list_applications
from dovetail.service.applications import is_running
from dovetail.service.keeping.keeper import Keeper
from dovetail.service.keeping.wanted import Wanted, find_wanted, list_wanted
from dovetail.service.metrics_reporter import JSON_FILE

FRESH_US = 60_000_000


@dataclass(frozen=True)
class Overview:
    """`wanted` is None for an application that somebody runs by hand. `figures` are as old as they say."""

    name: str
    wanted: Wanted | None
    condition: str
    why: str
    figures: dict[str, Any] | None

    @property
    def fresh(self) -> bool:
        """Its figures are of now: the application runs, and has measured itself lately."""
        running = self.condition in ("running", "changing", "elsewhere")
        return running and time.time_ns() // 1000 - _measured_at_us(self.figures) < FRESH_US

    def to_json(self) -> dict[str, Any]:
        wanted = self.wanted
        return {
            "name": self.name,
            "condition": self.condition,
            "why": self.why,
            "wanted": wanted.state if wanted else None,
            "revision": wanted.revision if wanted else None,
            "owner": wanted.owner if wanted else None,
            "place": wanted.place if wanted else None,
            "changed_by": wanted.by if wanted else None,
            "changed_at_us": wanted.at_us if wanted else None,
            **self.brief(),
        }

    def brief(self) -> dict[str, Any]:
        """The few numbers of a line in a list: sums over its joins, and the worst delay."""
        joins = (self.figures or {}).get("joins", [])
        streams = [stream for join in joins for stream in _streams(join)]
        rates = [join["match_rate"] for join in joins if join.get("match_rate") is not None]
        delays = [stream["behind_us"] for stream in streams if stream.get("behind_us") is not None]
        return {
            "rows_per_s": sum(stream.get("rows_per_s") or 0.0 for stream in streams) if self.fresh else 0.0,
            "match_rate": min(rates) if rates else None,
            "behind_us": max(delays) if delays and self.fresh else None,
            "backlog_rows": sum(stream.get("backlog_rows") or 0 for stream in streams),
            "matches": sum(join.get("totals", {}).get("pairs", 0) for join in joins),
            "index_bytes": sum(join.get("totals", {}).get("index_bytes", 0) for join in joins),
            "rows": _sum(streams, "rows"),
            "late": _sum(streams, "late"),
            "bad": _sum(streams, "null_keys") + _sum(streams, "invalid") + self._rejected(),
            "time_us": min(_known(streams, "time_us"), default=None),
            "backlog_us": max(_known(streams, "backlog_us"), default=None),
            "paused_share": max(_known(streams, "paused_share"), default=None),
            "accuracy": min(_known(streams, "accuracy"), default=None),
        }

    def _rejected(self) -> int:
        return sum((self.figures or {}).get("rejected", {}).values())


def overviews(home: str, keeper: Keeper) -> list[Overview]:
    """All applications: those of the service, and those that were started by hand in the same home."""
    found, _ = list_wanted(home)
    known = {wanted.application: wanted for wanted in found}
    names = sorted({*known, *list_applications(home)})
    return [_overview(home, name, known.get(name), keeper) for name in names]


def overview(home: str, name: str, keeper: Keeper) -> Overview | None:
    wanted = find_wanted(home, name)
    if wanted is None and name not in list_applications(home):
        return None
    return _overview(home, name, wanted, keeper)


def _overview(home: str, name: str, wanted: Wanted | None, keeper: Keeper) -> Overview:
    decision = keeper.decisions.get(name)
    if wanted is None:
        running = is_running(home, name) is not False
        condition, why = ("elsewhere", "started by hand") if running else ("stopped", "was run by hand")
    elif wanted.state == "deleted":
        condition, why = "deleted", f"by {wanted.by}; it can be restored for a day"
    elif decision is None or keeper.looked_at.get(name) != wanted.revision:
        condition, why = "pending", f"{wanted.deed} by {wanted.by}; the service has not looked at it yet"
    else:
        condition, why = decision.condition, decision.why
    figures = figures_of(home, name)
    since_us = decision.since_us if decision is not None else 0
    set_back = since_us > time.time_ns() // 1000  # since it began: what it measures is never after that
    if condition == "running" and not set_back and _measured_at_us(figures) < since_us:
        condition, why = "starting", f"{why}, which has not measured itself yet"
    return Overview(name, wanted, condition, why, figures)


def figures_of(home: str, name: str) -> dict[str, Any] | None:
    """What the run of an application has written last. A file that cannot be read is no figures."""
    try:
        found = json.loads(open_store(home).read(f"apps/{name}/{JSON_FILE}"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _measured_at_us(figures: dict[str, Any] | None) -> int:
    at_us = (figures or {}).get("measured_at_us")
    return at_us if isinstance(at_us, int) else 0


def _sum(streams: list[dict[str, Any]], name: str) -> int:
    return sum(stream.get(name) or 0 for stream in streams)


def _known(streams: list[dict[str, Any]], name: str) -> list[Any]:
    return [stream[name] for stream in streams if stream.get(name) is not None]


def _streams(join: dict[str, Any]) -> list[dict[str, Any]]:
    return [join[side] for side in ("left", "right") if isinstance(join.get(side), dict)]
