"""The applications of a home: whether they run."""

from __future__ import annotations

import json
import os
import time

from dovetail.engine.hold import is_held
from dovetail.log.homes.filesystem import open_store
from dovetail.service.metrics_reporter import EVERY_S, JSON_FILE

FRESH_S = 12 * EVERY_S
"""A run writes its metrics every few seconds. If they are older than this, it may have died."""


def is_running(home: str, application: str) -> bool | None:
    """A local home has a lock that tells for sure. Elsewhere a run holds a lease: then None means that the
    lease is there, but its holder has written no metrics for a while."""
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
