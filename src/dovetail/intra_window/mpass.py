"""MPass, the multi-pass sort-merge join: sorted runs, merged two by two, again and again.

Idea     Sort runs that fit into the cache; merge pairs of runs until one is left; join the two sorted sides
         in one pass.
Paper    Section 3.1, "Multi-Pass Sort Merge Join"; Balkesen et al., VLDB 2013.
Vocabulary  two-way bitonic merging -> `merge_pass`.
Differs  Runs are sorted by radix; merging takes the smaller head without branching, in place of a bitonic
         network. Threads share every pass in equal pieces of its result (merge path), also the last one,
         and are not bound to a power of two.
Law      Every pair with equal keys once, whatever the number of threads.
Cost     Each pass moves every row through memory; passes are the logarithm of the number of runs.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.job import WindowJob
from dovetail.intra_window.kernels.merge import merge_pass
from dovetail.intra_window.kernels.packed import Int64s, UInt32s, UInt64s, pack
from dovetail.intra_window.kernels.sort import sort_runs
from dovetail.intra_window.kernels.tasks import new_counter
from dovetail.intra_window.sorted_join import join_sorted

PIECE_ROWS = 1 << 14


def mpass(left: UInt32s, right: UInt32s, job: WindowJob) -> int:
    if not len(left) or not len(right):
        return 0
    r, s = _sorted(left, job), _sorted(right, job)
    return join_sorted(r, s, job)


def _sorted(keys: UInt32s, job: WindowJob) -> UInt64s:
    crew = job.crew
    rows, spare = job.lent.words(len(keys)), job.lent.words(len(keys))
    runs = max(crew.threads, -(-len(keys) // job.knobs.run_rows))
    begins = np.linspace(0, len(keys), runs + 1).astype(np.int64)
    counter = new_counter()

    crew.phase("partition", lambda thread: pack(keys, *crew.share(len(keys), thread), rows))
    longest = int(np.diff(begins).max())
    crew.phase("sort", lambda thread: sort_runs(rows, job.lent.words(longest), begins, counter))
    while len(begins) > 2:
        _halve(job, rows, spare, begins)
        rows, spare = spare, rows
        begins = np.append(begins[:-1:2], begins[-1])
    return rows


def _halve(job: WindowJob, source: UInt64s, target: UInt64s, begins: Int64s) -> None:
    """One pass: half as many runs, twice as long."""
    counter = new_counter()
    job.crew.phase("merge", lambda thread: merge_pass(source, target, begins, PIECE_ROWS, counter))
