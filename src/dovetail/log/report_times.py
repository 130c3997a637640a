"""When the reports of a writer could be read, so that it can say which of them is older than its knowledge.

A writer's knowledge of its source is as old as the look that gave it. A question to brokers may be open for
seconds, and a category's own writers are heard of late. So `empty` without a word on how old that is would
be read as of now.

    told    #6            #7            #8 ...
    look             │◄── began here: all that was in the source when #6 was there is known
"""

from __future__ import annotations

import time
from collections import deque


def steady_us() -> int:
    """A clock that never jumps. Only differences of it mean anything."""
    return time.monotonic_ns() // 1000


class ReportTimes:
    """By the writer's steady clock."""

    def __init__(self) -> None:
        self._told: deque[tuple[int, int]] = deque([(0, 0)])  # number, and when writing it was done

    def told(self, number: int, us: int) -> None:
        self._told.append((number, us))

    def before(self, look_us: int) -> int:
        """The last report that was there before a look began; 0: none was. Looks do not go back in time: what
        is older than the answer is forgotten."""
        while len(self._told) > 1 and self._told[1][1] < look_us:
            self._told.popleft()
        return self._told[0][0]
