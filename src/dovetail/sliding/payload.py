"""The rows of one stream as they were pushed, for as long as a result may name them: cores know rows by
number only."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.sliding.batches import Cell

_TOGETHER = 256


class Payload:
    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._firsts: list[int] = []  # of each batch: the number of its first row
        self._last_times: list[int] = []  # and the time of its last
        self._single: list[dict[str, Cell]] = []  # rows that came one by one and are in no batch yet
        self._single_time = 0
        self.rows = 0

    @property
    def held(self) -> int:
        """Rows that are kept now."""
        return self.rows - self._firsts[0] + len(self._single) if self._batches else len(self._single)

    def add_row(self, row: dict[str, Cell], time: int) -> None:
        self._single.append(row)
        self._single_time = time
        if len(self._single) == _TOGETHER:
            self._close_single()

    def _close_single(self) -> None:
        if self._single:
            rows, self._single = self._single, []
            columns = [_column([row[field.name] for row in rows], field.type) for field in self.schema]
            self.add(pa.RecordBatch.from_arrays(columns, schema=self.schema), self._single_time)

    def add(self, batch: pa.RecordBatch, last_time: int) -> None:
        self._close_single()
        if batch.num_rows:
            self._batches.append(batch)
            self._firsts.append(self.rows)
            self._last_times.append(last_time)
            self.rows += batch.num_rows

    def first_since(self, time: int) -> int:
        """The number of a row before which all rows are older than `time`."""
        number = bisect_right(self._last_times, time - 1)
        return self._firsts[number] if number < len(self._firsts) else self.rows

    def forget(self, before: int) -> None:
        """No result names a row with a smaller number any more."""
        gone = bisect_right(self._firsts, before) - 1
        if self._batches and before >= self.rows:
            gone = len(self._batches)
        if gone > 0:
            del self._batches[:gone], self._firsts[:gone], self._last_times[:gone]

    def gather(self, rows: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """These rows, in this order: batch by batch, then back into order."""
        self._close_single()
        if not len(rows):
            return pa.RecordBatch.from_pylist([], schema=self.schema)
        if len(self._batches) == 1:
            return self._batches[0].take(pa.array(rows - self._firsts[0]))
        batch_of = np.searchsorted(np.array(self._firsts), rows, side="right") - 1
        order = np.argsort(batch_of, kind="stable")
        pieces = []
        needed, starts = np.unique(batch_of[order], return_index=True)
        for number, start, end in zip(needed, starts, [*starts[1:], len(rows)], strict=True):
            within = rows[order[start:end]] - self._firsts[number]
            pieces.append(self._batches[number].take(pa.array(within)))
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        whole = pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]
        return whole.take(pa.array(back))


def _column(cells: list[Cell], kind: pa.DataType) -> pa.Array:
    if all(isinstance(cell, np.ndarray) for cell in cells):
        return pa.array(np.concatenate(cells), kind)
    return pa.concat_arrays([cell if isinstance(cell, pa.Array) else pa.array(cell, kind) for cell in cells])
