"""The rows of one stream as they were pushed, for as long as a result may name them: cores know rows by
number only."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_TOGETHER = 256


class Payload:
    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._firsts: list[int] = []
        self._single: list[dict[str, Any]] = []  # rows that came one by one and are in no batch yet
        self.rows = 0

    def add_row(self, row: dict[str, Any]) -> None:
        self._single.append(row)
        if len(self._single) == _TOGETHER:
            self._close_single()

    def _close_single(self) -> None:
        if self._single:
            rows, self._single = self._single, []
            self.add(pa.RecordBatch.from_pylist(rows, schema=self.schema))

    def add(self, batch: pa.RecordBatch) -> None:
        self._close_single()
        if batch.num_rows:
            self._batches.append(batch)
            self._firsts.append(self.rows)
            self.rows += batch.num_rows

    def forget(self, before: int) -> None:
        """Rows with smaller numbers are not asked for any more."""
        if len(self._batches) < 2:
            return
        gone = max(bisect_right(self._firsts, before) - 1, 0)
        if gone:
            del self._batches[:gone], self._firsts[:gone]

    def gather(self, rows: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """These rows, in this order: batch by batch, then put back into order."""
        self._close_single()
        if len(self._batches) == 1:
            return self._batches[0].take(pa.array(rows - self._firsts[0]))
        batch_of = np.searchsorted(np.array(self._firsts), rows, side="right") - 1
        order = np.argsort(batch_of, kind="stable")
        pieces = []
        needed, starts = np.unique(batch_of[order], return_index=True)
        for number, start, end in zip(needed, starts, [*starts[1:], len(rows)], strict=True):
            within = rows[order[start:end]] - self._firsts[number]
            pieces.append(self._batches[number].take(pa.array(within)))
        if not pieces:
            return pa.RecordBatch.from_pylist([], schema=self.schema)
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        whole = pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]
        return whole.take(pa.array(back))
