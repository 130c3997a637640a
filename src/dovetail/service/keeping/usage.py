"""What applications take, by owner: as their runs have measured themselves last, and at least what was
reserved for them until they have filled up. One that stands still because it is held counts with its last
figures: otherwise it would be let go, and held again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from dovetail.engine.masters import is_cluster
from dovetail.log.homes.filesystem import open_store
from dovetail.service.keeping.presence import master_of
from dovetail.service.keeping.quotas import Usage
from dovetail.service.keeping.wanted import Wanted, list_wanted
from dovetail.service.metrics_reporter import JSON_FILE


def usages(
    home: str, known: Iterable[Wanted] | None = None, now_us: int | None = None
) -> dict[str, list[Usage]]:
    """For all applications that should run. `known`: all that there are, if the caller has them."""
    found: dict[str, list[Usage]] = {}
    now_us = time.time_ns() // 1000 if now_us is None else now_us
    for wanted in list_wanted(home)[0] if known is None else known:
        if wanted.state == "running":
            found.setdefault(wanted.owner, []).append(_usage(home, wanted, now_us))
    return found


def _usage(home: str, wanted: Wanted, now_us: int) -> Usage:
    joins = _joins(home, wanted.application)
    sides = [join[side] for join in joins for side in ("left", "right") if isinstance(join.get(side), dict)]
    fills = now_us - wanted.at_us < wanted.filled_s * 1_000_000
    measured = sum(join.get("totals", {}).get("index_bytes", 0) for join in joins)
    return Usage(
        wanted.application,
        wanted.at_us,
        max(measured, wanted.reserved_bytes) if fills else measured,
        sum(side.get("rows_per_s") or 0.0 for side in sides),
        sum(join.get("tasks_asked") or join.get("tasks") or 0 for join in joins),
        here=not is_cluster(master_of(wanted)),
    )


def _joins(home: str, application: str) -> list[dict[str, Any]]:
    try:
        figures = json.loads(open_store(home).read(f"apps/{application}/{JSON_FILE}"))
        return [join for join in figures["joins"] if isinstance(join, dict)]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return []  # it has not measured itself yet
