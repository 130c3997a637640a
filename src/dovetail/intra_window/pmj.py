"""PMJ, the progressive merge join: sort and join what has come, merge the rest at the end.

Idea     When a share δ of the input has come, sort it and join it at once; it becomes a run. In the end
         merge the runs, and join rows of different runs as they meet.
Paper    Section 3.2.1, figure 1b, and section 5.5, figure 15; Dittrich et al., VLDB 2002.
Vocabulary  sorting step size δ -> `Knobs.sorting_step`; run -> `SortedStretch`.
Differs  Runs are merged two by two. Before two become one, the left rows of each are joined with the right
         rows of the other: no row needs to remember its run, and matches come out during the merge.
Law      Each pair of the rows given to it once: in the run of both, or where their runs are merged.
Cost     A sort, and then a merge and two joins for every doubling of the runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.intra_window.job import WindowJob, drain
from dovetail.intra_window.kernels.merge import merge_two
from dovetail.intra_window.kernels.packed import Int64s, UInt32s, UInt64s, pack_rows
from dovetail.intra_window.kernels.sort import sort_words
from dovetail.intra_window.kernels.sorted_join import count_sorted, pairs_sorted
from dovetail.intra_window.kernels.tasks import new_cursor


@dataclass(frozen=True)
class SortedStretch:
    """Stretches of both sides that are sorted, and whose pairs have come out."""

    starts: tuple[int, int]
    stops: tuple[int, int]


class ProgressiveMergeJoin:
    """What one thread holds: `step` takes rows of one side, `finish` merges."""

    def __init__(self, job: WindowJob, thread: int, rows: tuple[int, int], expected: tuple[int, int]) -> None:
        self._job, self._thread = job, thread
        self._step_rows = max(1, int(job.knobs.sorting_step * sum(expected)))
        self._sides = [job.lent.words(max(64, own)) for own in expected]
        self._spares = [job.lent.words(max(64, own)) for own in expected]
        self._filled = [0, 0]
        self._runs: list[SortedStretch] = []
        self._chunk = job.chunk() if job.take is not None else None

    def step(self, side: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
        self._job.enter(self._thread, "partition")
        at = self._filled[side]
        if at + len(rows) > len(self._sides[side]):
            larger = self._job.lent.words(2 * (at + len(rows)))
            larger[:at] = self._sides[side][:at]
            self._sides[side], self._spares[side] = larger, self._job.lent.words(len(larger))
        pack_rows(keys, rows, direct, self._sides[side], at)
        self._filled[side] = at + len(rows)
        begun = sum(self._runs[-1].stops) if self._runs else 0
        return self._close_run() if sum(self._filled) - begun >= self._step_rows else 0

    def _close_run(self) -> int:
        starts = self._runs[-1].stops if self._runs else (0, 0)
        run = SortedStretch(starts, (self._filled[0], self._filled[1]))
        self._job.enter(self._thread, "sort")
        for side in (0, 1):
            mine = self._of(run, side)
            spare = self._spares[side][run.starts[side] : run.stops[side]]
            if sort_words(mine, spare):
                mine[:] = spare
        self._runs.append(run)
        return self._join(self._of(run, 0), self._of(run, 1))

    def _of(self, run: SortedStretch, side: int) -> UInt64s:
        return self._sides[side][run.starts[side] : run.stops[side]]

    def _join(self, r: UInt64s, s: UInt64s) -> int:
        self._job.enter(self._thread, "probe")
        if self._chunk is None:
            return count_sorted(r, s)
        cursor: Int64s = new_cursor()
        return drain(self._job, self._thread, lambda a, b: pairs_sorted(r, s, cursor, a, b, 0), self._chunk)

    def finish(self) -> int:
        begun = self._runs[-1].stops if self._runs else (0, 0)
        total = self._close_run() if tuple(self._filled) != begun else 0
        while len(self._runs) > 1:
            merged = []
            for n in range(0, len(self._runs), 2):
                a, b = self._runs[n], self._runs[min(n + 1, len(self._runs) - 1)]
                if a is not b:
                    total += self._join(self._of(a, 0), self._of(b, 1))
                    total += self._join(self._of(b, 0), self._of(a, 1))
                self._job.enter(self._thread, "merge")
                for side in (0, 1):
                    second = self._of(b, side) if a is not b else self._of(a, side)[:0]
                    merge_two(self._of(a, side), second, self._spares[side][a.starts[side] : b.stops[side]])
                merged.append(SortedStretch(a.starts, b.stops))
            self._sides, self._spares = self._spares, self._sides
            self._runs = merged
        return total
