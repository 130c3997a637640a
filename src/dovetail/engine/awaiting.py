"""Waiting for the log: the next commit wakes its readers, so they need not poll.

Spark asks a source for its newest offset, and if there is none asks again after a moment, which is expensive.
So our sources delay their answer while nothing is new, but never longer than `AWAITED_S`: a query that is
stopped ends only when its source has answered."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dovetail.engine.gates import is_asked_to_rest
from dovetail.log.category import Category

AWAITED_S = 0.2
LOOK_S = 0.005


def await_commit(seen: Sequence[tuple[Category, int]], gate: str | None = None) -> None:
    """Wait until one of the categories has a commit of this number, or the join at the gate is asked to rest.
    On an object store each look is a request: there it only waits, without looking."""
    until_s = time.monotonic() + AWAITED_S
    looked_at = seen if all(category.store.local for category, _ in seen) else ()
    while time.monotonic() < until_s and not is_asked_to_rest(gate):
        if any(category.next_commit(number) > number for category, number in looked_at):
            return
        time.sleep(LOOK_S)
