"""How long the driver sleeps when the cores' inboxes are full.

The cores need the processors, and a driver that looks for room all the time takes one from them: in a profile
by thread of two cores on two processors it had 40 % of one. So it sleeps until about a quarter of an inbox is
free again, going by how fast rows went in before; the other three quarters keep the cores busy meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SHORTEST_S, LONGEST_S = 20e-6, 2e-3


class Room:
    def __init__(self, inbox_rows: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._quarter = max(1, inbox_rows // 4)
        self._clock = clock
        self._since = clock()
        self._row_s = 0.0
        self.rows = 0  # that went in since the last nap

    def nap_s(self) -> float:
        """There is no room for more now."""
        now = self._clock()
        (passed, self._since), (rows, self.rows) = (now - self._since, now), (self.rows, 0)
        if rows:
            self._row_s = (self._row_s + passed / rows) / 2
        else:
            self._row_s *= 2
        return min(max(self._row_s * self._quarter, SHORTEST_S), LONGEST_S)
