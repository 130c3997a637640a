"""The eager joins: every thread takes what has come, chooses its own rows, and joins them at once.

Law: rows are taken in the order of their arrival, from both sides in turn; a side that has nothing new is
passed over, and only where neither has, a thread waits (section 4.2.2 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dovetail.intra_window.job import WindowJob
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.route import by_value
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.pmj import ProgressiveMergeJoin
from dovetail.intra_window.route import JoinMatrix, Route, join_biclique
from dovetail.intra_window.shj import SymmetricHashJoin


class Method(Protocol):
    """How one thread joins the rows it is given."""

    def step(self, side: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int: ...

    def finish(self) -> int: ...


Eager = Callable[[UInt32s, UInt32s, WindowJob], int]


def eager(
    method: Callable[[WindowJob, int, tuple[int, int], tuple[int, int]], Method],
    route: Callable[[int, Knobs], Route],
) -> Eager:
    def join(left: UInt32s, right: UInt32s, job: WindowJob) -> int:
        routing = route(job.crew.threads, job.knobs)
        return sum(job.crew.phase("other", lambda thread: _run(thread, (left, right), job, method, routing)))

    return join


def _run(
    thread: int,
    sides: tuple[UInt32s, UInt32s],
    job: WindowJob,
    method: Callable[[WindowJob, int, tuple[int, int], tuple[int, int]], Method],
    route: Route,
) -> int:
    rows = len(sides[0]), len(sides[1])
    own = [int(rows[side] * route.share(side, thread)) + 1 for side in (0, 1)]
    joining = method(job, thread, rows, (own[0], own[1]))
    block = job.knobs.block_rows
    chosen, copied = np.empty(block, np.uint32), np.empty(block, np.uint32)
    at, total = [0, 0], 0
    while at[0] < rows[0] or at[1] < rows[1]:
        moved = False
        for side in (0, 1):
            start, stop = at[side], min(rows[side], at[side] + block)
            if job.arrival is not None:
                stop = job.arrival.ready(side, start, stop)
            if stop == start:
                continue
            moved = True
            job.enter(thread, "partition")
            count = route.choose(sides[side], side, thread, start, stop, chosen)
            at[side] = stop
            if job.knobs.physical:
                by_value(sides[side], chosen, count, copied)
                total += joining.step(side, copied[:count], chosen[:count], False)
            else:
                total += joining.step(side, sides[side], chosen[:count], True)
        if not moved and job.arrival is not None:
            job.enter(thread, "wait")
            job.arrival.wait(at[0], at[1])
    total += joining.finish()
    job.enter(thread, "other")
    return total


EAGER: dict[str, Eager] = {
    "shj_jm": eager(SymmetricHashJoin, JoinMatrix),
    "shj_jb": eager(SymmetricHashJoin, join_biclique),
    "pmj_jm": eager(ProgressiveMergeJoin, JoinMatrix),
    "pmj_jb": eager(ProgressiveMergeJoin, join_biclique),
}
