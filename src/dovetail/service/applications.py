"""The applications of a home: whether they run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from dovetail.engine.hold import LEASE, is_held
from dovetail.log.homes.clocks import awake_s
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.lease import Lease
from dovetail.service.metrics_reporter import EVERY_S, JSON_FILE

FRESH_S = 12 * EVERY_S
"""A run writes its metrics every few seconds. If they are older than this, it may have died."""


def is_running(home: str, application: str) -> bool | None:
    """A local home has a lock, which is certain. Elsewhere a run holds a lease: then None means that the
    lease exists, but its holder has written no metrics for a while."""
    store, folder = open_store(home), f"apps/{application}"
    if store.local:
        return is_held(os.path.join(store.root, folder, "lock"))
    if store.size(f"{folder}/lease.json") is None:
        return False
    try:
        measured_at_us = int(json.loads(store.read(f"{folder}/{JSON_FILE}"))["measured_at_us"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return True if time.time() - measured_at_us / 1e6 < FRESH_S else None


class Holders:
    """Who holds the applications of a home, for a caller that polls.

    In a remote home a run that is killed leaves its lease. One look cannot tell it from that of a run that
    lives, but a second one can: a run that lives has renewed it. To start another run is safe all the same,
    because that one waits for as long as a lease is good (`lease.py`)."""

    SILENT_S = 3 * LEASE.renew_s

    def __init__(self, home: str, clock: Callable[[], float] = awake_s) -> None:
        self._store, self._home, self._clock = open_store(home), home, clock
        self._seen: dict[str, tuple[tuple[str, int], float]] = {}

    def any_of(self, application: str) -> bool:
        """Whether a run holds the application, or may hold it."""
        if self._store.local:
            return is_running(self._home, application) is not False
        holder = Lease(self._store, f"apps/{application}/lease.json", application).holder()
        if holder is None:
            self._seen.pop(application, None)
            return False
        known, since_s = self._seen.get(application, (None, 0.0))
        if holder != known:
            self._seen[application] = holder, self._clock()
            return True
        return self._clock() - since_s < self.SILENT_S
