"""The last phase of the sort-based joins: two sorted sides, shared out in equal parts of the left."""

from __future__ import annotations

from dovetail.intra_window.job import WindowJob, drain
from dovetail.intra_window.kernels.packed import UInt64s
from dovetail.intra_window.kernels.sorted_join import count_tasks, equal_shares, pairs_tasks
from dovetail.intra_window.kernels.tasks import new_counter, new_cursor

PIECE_ROWS = 1 << 15


def join_sorted(r: UInt64s, s: UInt64s, job: WindowJob) -> int:
    tasks = equal_shares(r, s, max(1, min(PIECE_ROWS, -(-len(r) // job.crew.threads))))
    counter = new_counter()

    def join(thread: int) -> int:
        if job.take is None:
            return count_tasks(r, s, tasks, counter)
        cursor = new_cursor()
        return drain(job, thread, lambda a, b: pairs_tasks(r, s, tasks, counter, cursor, a, b))

    return sum(job.crew.phase("probe", join))
