"""PRJ, the parallel radix join: partitions small enough for the cache, joined one by one.

Idea     Deal both sides out by bits of the key, so that equal keys meet in one partition; join each with a
         hash table that stays in the cache, and that no other thread touches.
Paper    Section 3.1, "Parallel Radix Join"; Kim et al., VLDB 2009; section 5.5 and figure 18 for the radix
         bits.
Vocabulary  #r -> `Knobs.radix_bits`; relation partitioning -> phase "partition".
Differs  Partitions are chosen by bits of a spread key, so that keys with a pattern in their low bits do not
         fall together; one pass, with write-combining, in place of two. A partition that is much of the
         work is several tasks, each with a table of its own, where that pays: the paper finds PRJ weak where
         keys are skewed, for few threads then have work (section 5.4). Rows of a key share a slot.
Law      Every pair with equal keys once, whatever the number of threads.
Cost     Each row is read twice and written once to partition it; then one visit in the cache.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dovetail.intra_window.job import WindowJob, drain
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.prj import count_tasks, pairs_tasks
from dovetail.intra_window.kernels.radix import by_hash
from dovetail.intra_window.kernels.table import new_table
from dovetail.intra_window.kernels.tasks import TASK_FIELDS, Tasks, new_counter, new_cursor
from dovetail.intra_window.radix import Partitioned, partition

PART_ROWS = 4096
"""Left rows of a partition whose table fits into the second-level cache with room to spare."""

MOST_BITS = 12
"""More partitions than that have no room for a line each in the cache while rows are dealt out."""


def radix_bits(rows: int) -> int:
    return min(MOST_BITS, max(0, (rows // PART_ROWS).bit_length()))


def prj(left: UInt32s, right: UInt32s, job: WindowJob) -> int:
    crew = job.crew
    bits = radix_bits(len(left)) if job.knobs.radix_bits is None else job.knobs.radix_bits
    r, s = partition(job, (left, right), by_hash(bits), crew.threads)
    tasks = _tasks(r, s, crew.threads, written=job.take is not None)
    counter = new_counter()
    rows = int((tasks[:, 1] - tasks[:, 0]).max(initial=0))

    def join(thread: int) -> int:
        table = new_table(2 * rows, bits)
        if job.take is None:
            return count_tasks(r.words, s.words, tasks, counter, table, bits)
        cursor = new_cursor()
        return drain(
            job,
            thread,
            lambda a, b: pairs_tasks(r.words, s.words, tasks, counter, table, bits, cursor, a, b),
        )

    return sum(crew.phase("probe", join))


def _tasks(r: Partitioned, s: Partitioned, threads: int, *, written: bool) -> Tasks:
    """A task a partition that has rows on both sides, the largest first. One that is much of all the work is
    cut into stretches of right rows. Where pairs are only counted, each is no shorter than the left rows
    whose table it needs; where they are written, that is more work than all tables."""
    tasks = np.column_stack((r.bounds[:-1], r.bounds[1:], s.bounds[:-1], s.bounds[1:]))
    lefts, rights = tasks[:, 1] - tasks[:, 0], tasks[:, 3] - tasks[:, 2]
    tasks = tasks[(lefts > 0) & (rights > 0)]
    tasks = tasks[np.argsort(-(tasks[:, 1] - tasks[:, 0] + tasks[:, 3] - tasks[:, 2]), kind="stable")]
    fair = (len(r.words) + len(s.words)) // (4 * threads)
    if threads == 1 or len(tasks) == 0 or _work(tasks[0]) <= fair:
        return tasks
    cut: list[Tasks] = []
    for task in tasks:
        lefts_here, rights_here = task[1] - task[0], task[3] - task[2]
        parts = 1
        if _work(task) > fair:
            parts = min(threads, int(rights_here if written else max(1, rights_here // lefts_here)))
        edges = np.linspace(task[2], task[3], parts + 1).astype(np.int64)
        cut += [np.array([[task[0], task[1], a, b]]) for a, b in pairwise(edges)]
    return np.concatenate(cut) if cut else np.empty((0, TASK_FIELDS), np.int64)


def _work(task: Tasks) -> int:
    return int(task[1] - task[0] + task[3] - task[2])
