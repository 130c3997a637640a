"""Waiting for the log: whoever reads it is woken by the next commit, and does not come back for it later.

Spark asks a source for its newest offset, and if there is none comes back after a moment, with everything
that a look costs. So sources of ours answer late where nothing is new. Nobody waits longer than
`AWAITED_S`: a query that is stopped ends when its source has answered."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dovetail.engine.gates import is_asked_to_rest
from dovetail.log.category import Category

AWAITED_S = 0.2
LOOK_S = 0.005


def await_commit(seen: Sequence[tuple[Category, int]], gate: str | None = None) -> None:
    """Until one of the categories has a commit of this number, or whoever waits at the gate is asked to rest.
    On an object store each look is a request: there is none, only the wait."""
    until_s = time.monotonic() + AWAITED_S
    looked_at = seen if all(category.store.local for category, _ in seen) else ()
    while time.monotonic() < until_s and not is_asked_to_rest(gate):
        if any(category.next_commit(number) > number for category, number in looked_at):
            return
        time.sleep(LOOK_S)
