"""The eager joins: every thread takes what has come, chooses its own rows, and joins them at once.

Law: rows are taken in the order of their arrival, from both sides in turn; a side that has nothing new is
passed over, and only where neither has, a thread waits (section 4.2.2 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dovetail.intra_window.join_biclique import JoinBiclique
from dovetail.intra_window.join_matrix import JoinMatrix
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.route import by_value
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.output import Asked
from dovetail.intra_window.pmj import ProgressiveMergeJoin
from dovetail.intra_window.shj import SymmetricHashJoin


class Method(Protocol):
    """How one thread joins the rows it is given."""

    def step(self, side: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int: ...

    def finish(self) -> int: ...


class Route(Protocol):
    """Which rows a thread is given."""

    def share(self, side: int, thread: int) -> float: ...

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int: ...


Eager = Callable[[UInt32s, UInt32s, Asked], int]


def eager(
    method: Callable[[Asked, int, tuple[int, int], tuple[int, int]], Method],
    route: Callable[[int, Knobs], Route],
) -> Eager:
    def join(left: UInt32s, right: UInt32s, asked: Asked) -> int:
        routing = route(asked.crew.threads, asked.knobs)
        return sum(
            asked.crew.phase("other", lambda thread: _run(thread, (left, right), asked, method, routing))
        )

    return join


def _run(
    thread: int,
    sides: tuple[UInt32s, UInt32s],
    asked: Asked,
    method: Callable[[Asked, int, tuple[int, int], tuple[int, int]], Method],
    route: Route,
) -> int:
    rows = len(sides[0]), len(sides[1])
    own = [int(rows[side] * route.share(side, thread)) + 1 for side in (0, 1)]
    joining = method(asked, thread, rows, (own[0], own[1]))
    block = asked.knobs.block_rows
    chosen, copied = np.empty(block, np.uint32), np.empty(block, np.uint32)
    at, total = [0, 0], 0
    while at[0] < rows[0] or at[1] < rows[1]:
        moved = False
        for side in (0, 1):
            start, stop = at[side], min(rows[side], at[side] + block)
            if asked.arrival is not None:
                stop = asked.arrival.ready(side, start, stop)
            if stop == start:
                continue
            moved = True
            asked.enter(thread, "partition")
            count = route.choose(sides[side], side, thread, start, stop, chosen)
            at[side] = stop
            if asked.knobs.physical:
                by_value(sides[side], chosen, count, copied)
                total += joining.step(side, copied, chosen[:count], False)
            else:
                total += joining.step(side, sides[side], chosen[:count], True)
        if not moved and asked.arrival is not None:
            asked.enter(thread, "wait")
            asked.arrival.wait(at[0], at[1])
    total += joining.finish()
    asked.enter(thread, "other")
    return total


EAGER: dict[str, Eager] = {
    "shj_jm": eager(SymmetricHashJoin, JoinMatrix),
    "shj_jb": eager(SymmetricHashJoin, JoinBiclique),
    "pmj_jm": eager(ProgressiveMergeJoin, JoinMatrix),
    "pmj_jb": eager(ProgressiveMergeJoin, JoinBiclique),
}
