"""Waiting for the log: whoever reads it is woken by the next commit, and does not come back for it later.

Spark asks a source for its newest offset, and if there is none comes back after a moment, with everything
that a look costs. So sources of ours answer late where nothing is new. Nobody waits longer than
`AWAITED_S`: a query that is stopped ends when its source has answered."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dovetail.log.category import Category

AWAITED_S = 0.2
LOOK_S = 0.005


def await_commit(seen: Sequence[tuple[Category, int]], most_s: float = AWAITED_S) -> None:
    """Until one of the categories has a commit of this number, or for this long. On an object store each
    look is a request: there is none, only the wait."""
    until_s = time.monotonic() + most_s
    if not all(category.store.local for category, _ in seen):
        time.sleep(most_s)
        return
    while time.monotonic() < until_s:
        if any(category.next_commit(number) > number for category, number in seen):
            return
        time.sleep(LOOK_S)
