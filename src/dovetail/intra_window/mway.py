"""MWay, the multi-way sort-merge join: ranges of keys, sorted in runs, merged many at once.

Idea     Cut both sides by range of keys; sort the runs of each range in the cache; merge all runs of a
         range in one go, before they leave the cache; join the two sorted ranges in one pass.
Paper    Section 3.1, "Multi-Way Sort Merge Join"; Chhugani et al., VLDB 2008; Balkesen et al., VLDB 2013.
Vocabulary  local partition -> (range, piece); multi-way merging -> `merge_in_cache`.
Differs  Runs are sorted by radix, which needs no vector instructions to be fast. The tree of two-way merges
         works on whole ranges, which fit into the cache. The number of runs (`Knobs.ways`) does not follow
         the number of threads, so more threads do the same work. Ranges are of equal width in keys; those
         of unequal size are balanced by threads taking them one by one.
Law      Every pair with equal keys once, whatever the number of threads.
Cost     Rows are moved once through memory; the rest is in the cache while keys are spread evenly.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.job import WindowJob
from dovetail.intra_window.kernels.merge import merge_ranges
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.radix import by_range
from dovetail.intra_window.kernels.sort import sort_runs
from dovetail.intra_window.kernels.tasks import new_counter
from dovetail.intra_window.keys import key_span
from dovetail.intra_window.radix import partition
from dovetail.intra_window.sorted_join import join_sorted

RANGE_ROWS = 8192
"""Rows of a range: with as many to merge into, a part of the second-level cache."""

MOST_BITS = 12


def mway(left: UInt32s, right: UInt32s, job: WindowJob) -> int:
    if not len(left) or not len(right):
        return 0
    crew = job.crew
    least, most = key_span(crew, left, right)
    bits = job.knobs.radix_bits
    if bits is None:
        bits = min(MOST_BITS, (max(len(left), len(right)) // RANGE_ROWS).bit_length())
    sides = partition(job, (left, right), by_range(least, most, bits), max(job.knobs.ways, crew.threads))
    longest = max(int(np.diff(side.bounds).max()) for side in sides)
    spares = [job.lent.words(longest) for _ in range(crew.threads)]
    sorting, merging = [new_counter() for _ in sides], [new_counter() for _ in sides]

    def sort(thread: int) -> None:
        for side, counter in zip(sides, sorting, strict=True):
            sort_runs(side.words, spares[thread], side.begins, counter)

    def merge(thread: int) -> None:
        for side, counter in zip(sides, merging, strict=True):
            merge_ranges(side.words, spares[thread], side.begins, side.pieces, counter)

    crew.phase("sort", sort)
    crew.phase("merge", merge)
    return join_sorted(sides[0].words, sides[1].words, job)
