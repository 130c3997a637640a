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

from typing import Any

import numpy as np

from dovetail.sliding.collector import Collector
from dovetail.sliding.core_part import capacity_for
from dovetail.sliding.kernels import partition as kernels
from dovetail.sliding.kernels.channel import Bank, Channel, bank, of_bank, send_rows, take_rows
from dovetail.sliding.kernels.join_core import NEEDS_ROOM, NEEDS_WINDOW_R
from dovetail.sliding.kernels.layout import PAIR_WORDS
from dovetail.sliding.kernels.partition import LINE, Plan
from dovetail.sliding.kernels.probe import probe_room
from dovetail.sliding.kernels.subwindow import SCAN, SubWindow, move, sub_window
from dovetail.sliding.release import Stage, taken_from
from dovetail.sliding.stepping import FIRST_FOUND, SteppedCore, quiet
from dovetail.sliding.topology import Job, Messages, Part, Topology

BATCH_ROWS = 16
BASIC_ROWS = 1024


class Coordinator(SteppedCore):
    """Owns the windows. They are replaced when they grow; workers learn it from the next task."""

    kernel = kernels.run_coordinator

    def __init__(self, job: Job, inbox: Channel, tasks: Bank, plan: Plan) -> None:
        self.inbox, self._tasks, self._plan = inbox, tasks, plan
        self._layout, self._key_kind = job.encoding.layout, job.encoding.key_kind
        self._rules = job.rules
        self._state = np.zeros(kernels.COORDINATOR_WORDS, np.int64)
        self.windows = (self._window(job.left.rows), self._window(job.right.rows))

    @property
    def version(self) -> int:
        return int(self._state[kernels.WINDOWS])

    def _window(self, rows: int | None) -> SubWindow:
        capacity = capacity_for((rows or 0) + self._plan.batch_rows)
        return sub_window(self._layout, self._key_kind, capacity, SCAN)

    def _arguments(self) -> tuple[Any, ...]:
        return (*self.windows, self.inbox, self._tasks, self._plan, self._rules, self._state)

    def _grow(self, what: int) -> None:
        number = 0 if what == NEEDS_WINDOW_R else 1
        old = self.windows[number]
        new = sub_window(self._layout, self._key_kind, 2 * len(old.rows), SCAN)
        move(old, new)
        new.marks[:] = old.marks
        self.windows = (new, self.windows[1]) if number == 0 else (self.windows[0], new)
        self._state[kernels.WINDOWS] += 1

    @property
    def busy(self) -> bool:
        return False  # its batch stays in the inbox until all is done

    @property
    def rows_held(self) -> int:
        return int(sum(window.marks[1] - window.marks[0] for window in self.windows))


class Worker(SteppedCore):
    kernel = kernels.run_worker

    def __init__(
        self, job: Job, number: int, inbox: Channel, out: Channel, coordinator: Coordinator, plan: Plan
    ):
        self.number, self.inbox, self._out = number, inbox, out
        self._encoding, self._rules, self._plan = job.encoding, job.rules, plan
        self._coordinator, self._windows = coordinator, coordinator.windows
        self._probe = self._room(FIRST_FOUND)
        self._state = np.zeros(kernels.WORKER_WORDS, np.int64)
        self._state[kernels.NUMBER] = number

    def _room(self, rows: int) -> Any:
        return probe_room(rows, self._encoding.layout.dimensions, self._encoding.key_kind)

    def _arguments(self) -> tuple[Any, ...]:
        return (
            *self._windows,
            self.inbox,
            self._out,
            self._plan,
            self._rules,
            self._encoding.residual,
            self._probe,
            self._state,
        )

    def _grow(self, what: int) -> None:
        if what == NEEDS_ROOM:
            self._probe = self._room(2 * len(self._probe.found))
        else:  # the coordinator waits for this task, so its windows do not change meanwhile
            self._windows = self._coordinator.windows
            self._state[kernels.KNOWN_WINDOWS] = self._coordinator.version

    @property
    def busy(self) -> bool:
        return False  # its task stays in the inbox until all its pairs are out

    @property
    def rows_held(self) -> int:
        return 0  # the windows are the coordinator's

    @property
    def compared(self) -> int:
        """Pairs of rows that stood face to face in a scan so far."""
        return int(self._state[kernels.COMPARED])


class CellJoin(Topology):
    """`cores` are the workers, and the coordinator last: it has a thread of its own."""

    wants_first = True

    def __init__(self, job: Job, batch_rows: int = BATCH_ROWS, basic_rows: int = BASIC_ROWS) -> None:
        self._inlet, self._outlet = job.inbox(), job.outbox()
        self._tasks = bank(job.cores, job.inbox_rows, job.encoding.layout.words + kernels.TASK_WORDS)
        self._results = bank(job.cores, job.outbox_pairs, PAIR_WORDS)
        plan = Plan(
            batch_rows, basic_rows, np.zeros(job.cores, np.int64), np.zeros(job.cores * LINE, np.int64)
        )
        coordinator = Coordinator(job, self._inlet, self._tasks, plan)
        workers = [
            Worker(
                job, number, of_bank(self._tasks, number), of_bank(self._results, number), coordinator, plan
            )
            for number in range(job.cores)
        ]
        self.cores: list[SteppedCore] = [*workers, coordinator]
        self.network: list[Part] = [Collector(self._results, self._outlet)]

    def offer(self, messages: Messages, first: int) -> int:
        return int(send_rows(self._inlet, messages, first))

    def take_pairs(self, into: Messages) -> int:
        return int(take_rows(self._outlet, into))

    def settled(self) -> bool:
        return quiet([self._inlet, self._tasks, self._results], self.cores)

    def flow(self) -> list[Stage]:
        """The coordinator takes rows from its inbox when the workers have written all their results."""
        return [taken_from(self._inlet), taken_from(self._results), taken_from(self._outlet)]
