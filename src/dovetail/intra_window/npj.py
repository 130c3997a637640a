"""NPJ, the no-partitioning join: one hash table that all threads share.

Idea     All threads insert the rows of R into one table; when all are done, all probe it with the rows of S.
Paper    Section 3.1, "No-Partitioning Join"; Blanas, Li and Patel, SIGMOD 2011.
Vocabulary  build phase -> phase "build"; probe phase -> phase "probe"; bucket -> slot.
Differs  A slot is one word, claimed by an atomic exchange; in the paper threads come into conflict over a
         bucket (section 5.3.2). Rows of one key are one slot with a chain, so that duplicates lengthen no
         one else's way, and counting needs no walk.
Law      Every pair with equal keys once, whatever the number of threads.
Cost     One cache miss a row, fetched ahead; 8 bytes a slot, a third to two thirds of the slots used.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.job import WindowJob, drain
from dovetail.intra_window.kernels.npj import insert_shared
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.table import NO_ROWS, Table, count_rows, pairs_rows, table_bits
from dovetail.intra_window.kernels.tasks import CURSOR_FIELDS


def npj(left: UInt32s, right: UInt32s, job: WindowJob) -> int:
    crew = job.crew
    bits = table_bits(3 * len(left) // 4)  # two thirds full: clearing memory is what threads share least
    slots = 1 << bits
    table = Table(
        job.lent.zeros(slots, np.uint64),
        job.lent.empty(len(left), np.uint32),
        job.lent.zeros(slots, np.uint32),
    )

    def build(thread: int) -> None:
        insert_shared(table, bits, left, *crew.share(len(left), thread))

    def probe(thread: int) -> int:
        start, stop = crew.share(len(right), thread)
        own = right[start:stop]
        if job.take is None:
            return count_rows(table, bits, own, NO_ROWS, False)
        cursor = np.zeros(CURSOR_FIELDS, np.int64)
        return drain(
            job, thread, lambda a, b: pairs_rows(table, bits, own, NO_ROWS, False, start, cursor, a, b)
        )

    crew.phase("build", build)
    return sum(crew.phase("probe", probe))
