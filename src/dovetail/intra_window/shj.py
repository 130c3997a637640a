"""SHJ, the symmetric hash join: a hash table a side, each new row probes the other's and enters its own.

Idea     Rows are matched as they come: whichever of two comes later finds the other.
Paper    Section 3.2.1, figure 1a; Wilschut and Apers, 1991.
Vocabulary  build -> phase "build"; probe -> phase "probe".
Differs  Rows are taken in blocks of what has come, so that cache misses of a block overlap; in a block all
         rows probe before any enters. Rows of one key share a slot, as in NPJ.
Law      Each pair of the rows given to it once, in the step of the later block.
Cost     Two cache misses a row, fetched ahead; 8 bytes a slot a side, and 4 a row.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.job import WindowJob, drain
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.shj import insert_rows, rehash
from dovetail.intra_window.kernels.table import Table, count_rows, pairs_rows, table_bits
from dovetail.intra_window.kernels.tasks import CURSOR_FIELDS
from dovetail.intra_window.memory import Lent


class GrowingTable:
    """One side of a symmetric join; `expected` keys fit without growing."""

    def __init__(self, rows: int, expected: int, lent: Lent) -> None:
        self.bits = table_bits(expected)
        self.used = 0
        self._lent = lent
        self.arrays = self._arrays(self.bits, lent.empty(max(1, rows), np.uint32))

    def insert(self, keys: UInt32s, rows: UInt32s, direct: bool) -> None:
        if 2 * (self.used + len(rows)) > len(self.arrays.slots):
            self._grow(self.used + len(rows))
        self.used += insert_rows(self.arrays, self.bits, keys, rows, direct)

    def _grow(self, keys: int) -> None:
        bits = table_bits(2 * keys)
        larger = self._arrays(bits, self.arrays.older)
        rehash(self.arrays, larger, bits)
        self.bits, self.arrays = bits, larger

    def _arrays(self, bits: int, older: UInt32s) -> Table:
        return Table(self._lent.zeros(1 << bits, np.uint64), older, self._lent.empty(1 << bits, np.uint32))


class SymmetricHashJoin:
    """What one thread holds: `step` takes rows of one side, `finish` has nothing left to do."""

    def __init__(self, job: WindowJob, thread: int, rows: tuple[int, int], expected: tuple[int, int]) -> None:
        self._job, self._thread = job, thread
        self._tables = [
            GrowingTable(all_rows, own, job.lent) for all_rows, own in zip(rows, expected, strict=True)
        ]
        self._chunk = job.chunk() if job.take is not None else None

    def step(self, side: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
        own, other = self._tables[side], self._tables[1 - side]
        self._job.enter(self._thread, "probe")
        if self._chunk is None:
            found = count_rows(other.arrays, other.bits, keys, rows, direct)
        else:
            found = self._pairs(side, keys, rows, direct)
        self._job.enter(self._thread, "build")
        own.insert(keys, rows, direct)
        return found

    def _pairs(self, side: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
        other = self._tables[1 - side]
        cursor = np.zeros(CURSOR_FIELDS, np.int64)

        def fill(left: UInt32s, right: UInt32s) -> int:
            theirs, ours = (right, left) if side == 0 else (left, right)
            return pairs_rows(other.arrays, other.bits, keys, rows, direct, 0, cursor, theirs, ours)

        return drain(self._job, self._thread, fill, self._chunk)

    def finish(self) -> int:
        return 0
