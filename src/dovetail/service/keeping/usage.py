"""What applications take, by owner: as their runs have measured themselves last. One that stands still
because it is held counts with its last figures: otherwise it would be let go, and held again."""

from __future__ import annotations

import json
from typing import Any

from dovetail.log.homes.filesystem import open_store
from dovetail.service.keeping.quotas import Usage
from dovetail.service.keeping.wanted import Wanted, list_wanted
from dovetail.service.metrics_reporter import JSON_FILE


def usages(home: str) -> dict[str, list[Usage]]:
    """Of all applications that should run."""
    found: dict[str, list[Usage]] = {}
    for wanted in list_wanted(home)[0]:
        if wanted.state == "running":
            found.setdefault(wanted.owner, []).append(_usage(home, wanted))
    return found


def _usage(home: str, wanted: Wanted) -> Usage:
    joins = _joins(home, wanted.application)
    sides = [join[side] for join in joins for side in ("left", "right") if isinstance(join.get(side), dict)]
    return Usage(
        wanted.application,
        wanted.at_us,
        sum(join.get("totals", {}).get("index_bytes", 0) for join in joins),
        sum(side.get("rows_per_s") or 0.0 for side in sides),
        sum(join.get("tasks_asked") or join.get("tasks") or 0 for join in joins),
    )


def _joins(home: str, application: str) -> list[dict[str, Any]]:
    try:
        figures = json.loads(open_store(home).read(f"apps/{application}/{JSON_FILE}"))
        return [join for join in figures["joins"] if isinstance(join, dict)]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return []  # it has not measured itself yet
