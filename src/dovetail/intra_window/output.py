"""Where matches go: counted, or written as pairs of row numbers, chunk by chunk.

Law: an algorithm gives the same matches to every output; what it costs to hand them on is all that differs.

An algorithm is asked for a count (`take` is None), or for chunks of pairs, which it hands to `take` from
whichever thread has filled one. The arrays are the thread's own and are filled again afterwards: who wants to
keep them copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dovetail.intra_window.crew import Crew
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.knobs import Knobs

Take = Callable[[int, UInt32s, UInt32s, int], None]
"""`take(thread, left rows, right rows, how many of them count)`."""

Chunk = tuple[UInt32s, UInt32s]


class Arrival(Protocol):
    """Rows that are not there from the start (section 4.2.2). `side`: 0 left, 1 right."""

    def ready(self, side: int, start: int, stop: int) -> int:
        """Up to where in `start..stop` rows have come by now."""

    def wait(self, left: int, right: int) -> None:
        """Until the next row of either side, from these on, has come."""

    def wait_for_all(self) -> None: ...


@dataclass(frozen=True)
class Asked:
    """What every algorithm is given besides its input."""

    crew: Crew
    knobs: Knobs
    take: Take | None = None
    arrival: Arrival | None = None

    def chunk(self) -> Chunk:
        return np.empty(self.knobs.chunk_pairs, np.uint32), np.empty(self.knobs.chunk_pairs, np.uint32)

    def enter(self, thread: int, phase: str) -> None:
        """Tell the stopwatch, where there is one, what a thread does from now on."""
        if self.crew.stopwatch is not None:
            self.crew.stopwatch.enter(thread, phase)


def drain(
    asked: Asked, thread: int, fill: Callable[[UInt32s, UInt32s], int], chunk: Chunk | None = None
) -> int:
    """Hand on what `fill` writes, chunk by chunk, until it fills no whole one; how many pairs there were."""
    assert asked.take is not None
    left, right = chunk or asked.chunk()
    total = 0
    while True:
        filled = fill(left, right)
        if filled:
            asked.take(thread, left, right, filled)
        total += filled
        if filled < len(left):
            return total
