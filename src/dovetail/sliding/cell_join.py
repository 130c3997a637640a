"""CellJoin: a coordinator cuts the window into parts, workers scan one each.

Idea
    Kang's procedure with the scan shared out: for each new row, or a few, a coordinator divides the other
    stream's window among the workers, replicates the row to all of them, and waits until the last has
    finished.
Paper
    Gedik, Bordawekar, Yu, *CellJoin*, VLDB Journal 18(2), 2009, as sections 2.2 and 3.6 of the handshake
    paper (SIGMOD 2011) give it.
Vocabulary
    basic window -> the smallest piece that a worker gets; re-partitioning every k tuples -> `batch_rows`; PPE
    -> the coordinator; SPE -> a worker.
Differs
    - The rows of a batch are inserted before they are dealt out, and each message says which rows its row may
      see. So rows of one batch meet each other, and no cut reaches further than the row's own window.
    - Workers read the windows where they lie; the Cell's have to fetch them.
    - Always a scan: parts are cut by position, which an index over keys knows nothing of.
Law
    The pairs of Kang's procedure, whatever the batch, the basic window and the number of workers.
Cost
    Each row costs the coordinator a message a worker, and everybody waits for the slowest: what the other
    designs do away with. One thread more than there are workers.
"""

from __future__ import annotations

import numpy as np

from dovetail.sliding.kernels import partition as kernels
from dovetail.sliding.kernels.channel import bank, of_bank
from dovetail.sliding.kernels.layout import PAIR_WORDS
from dovetail.sliding.kernels.partition import (
    WINDOWS,
    CoordinatorCore,
    CoordinatorLinks,
    CutPlan,
    WorkerCore,
    WorkerLinks,
)
from dovetail.sliding.kernels.stepping import LINE, NEEDS_WINDOWS
from dovetail.sliding.kernels.subwindow import SCAN, SubWindow, sub_window
from dovetail.sliding.merger import Merger
from dovetail.sliding.release import Stage, taken_from
from dovetail.sliding.stepping import SteppedCore, capacity_for, quiet
from dovetail.sliding.topology import SlidingJob, Topology


class Coordinator(SteppedCore):
    """Owns the windows. They are replaced when they grow; workers learn it from the next task."""

    kernel = kernels.run_coordinator

    def __init__(self, job: SlidingJob, links: CoordinatorLinks, plan: CutPlan) -> None:
        super().__init__(job, job.cores, links)
        r, s = (self._window((rows or 0) + plan.batch_rows) for rows in (job.left.rows, job.right.rows))
        self.core = CoordinatorCore(r, s, plan, self._state)

    def _window(self, rows: int) -> SubWindow:
        return sub_window(self._layout, self._key_kind, capacity_for(rows), SCAN)

    def _grow(self, what: int) -> None:
        super()._grow(what)
        self._state[WINDOWS] += 1


class Worker(SteppedCore):
    kernel = kernels.run_worker

    def __init__(self, job: SlidingJob, number: int, links: WorkerLinks, coordinator: Coordinator) -> None:
        super().__init__(job, number, links)
        self._coordinator = coordinator
        r, s, plan, _ = coordinator.core
        self.core = WorkerCore(r=r, s=s, plan=plan, state=self._state, **self._room(), **self._passes())

    def _grow(self, what: int) -> None:
        if what == NEEDS_WINDOWS:
            # The coordinator waits for this task, so its windows do not change meanwhile.
            theirs = self._coordinator.core
            self.core = self.core._replace(r=theirs.r, s=theirs.s)
            self._state[WINDOWS] = theirs.state[WINDOWS]
        else:
            super()._grow(what)

    @property
    def rows_held(self) -> int:
        return 0  # the windows are the coordinator's


class CellJoin(Topology):
    """`cores` are the workers, and the coordinator last: it has a thread of its own."""

    wants_first = True

    def __init__(self, job: SlidingJob) -> None:
        super().__init__(job)
        self._inlet = job.inbox()
        self._tasks = bank(job.cores, job.inbox_rows, job.encoding.layout.words + kernels.TASK_WORDS)
        self._results = bank(job.cores, job.outbox_pairs, PAIR_WORDS)
        given, done = np.zeros(job.cores, np.int64), np.zeros(job.cores * LINE, np.int64)
        links = CoordinatorLinks(self._inlet, self._tasks)
        coordinator = Coordinator(job, links, CutPlan(job.batch_rows, job.basic_rows, given, done))
        workers = [
            Worker(job, n, WorkerLinks(of_bank(self._tasks, n), of_bank(self._results, n)), coordinator)
            for n in range(job.cores)
        ]
        self.cores: list[SteppedCore] = [*workers, coordinator]
        self.network = [Merger(self._results, self._outlet)]

    def settled(self) -> bool:
        return quiet([self._inlet, self._tasks, self._results], self.cores)

    def flow(self) -> list[Stage]:
        """The coordinator takes rows from its inbox when the workers have written all their results."""
        return [taken_from(self._inlet), taken_from(self._results), taken_from(self._outlet)]
