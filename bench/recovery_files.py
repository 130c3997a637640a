"""The files of a restart: many right rows and few left ones over three hours, then one small file a side.

Both systems read the same files with the same join, whose bounds are wider than the stream is long: all right
rows stay in the state.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.recovery_window import SPAN_US
from bench.workload import SCHEMAS, START_US, Dataset, Side, Workload

WINDOW_US = 2 * SPAN_US
FILE_ROWS = 1_000_000
LEFT_ROWS = 100_000
NEXT_ROWS = 10_000


class RestartFiles:
    """`rows`: of the right side, before the restart."""

    def __init__(self, folder: Path, rows: int, seed: int) -> None:
        self.dataset = Dataset(Workload(rows=rows, seed=seed), folder, 1_000_000)
        self.rows = rows
        self._rng = np.random.default_rng(seed)
        self._written = 0
        for side in ("left", "right"):
            self.dataset.files(side).mkdir(parents=True)

    def write_window(self) -> None:
        for start in range(0, self.rows, FILE_ROWS):
            keys = np.arange(start, min(start + FILE_ROWS, self.rows))
            self._write("right", keys, (keys / self.rows * SPAN_US).astype(np.int64))
        self.write_next(LEFT_ROWS)

    def write_next(self, rows: int = NEXT_ROWS) -> None:
        """Rows of both sides at the end of the time span; the left ones find partners all over the window."""
        for side in ("left", "right"):
            keys = self._rng.integers(0, self.rows, rows)
            self._write(side, keys, np.full(rows, SPAN_US + self._written))

    def _write(self, side: Side, keys: np.ndarray, times: np.ndarray) -> None:
        """Under a name that nobody looks for, then under its own: a file appears whole."""
        schema, count = SCHEMAS[side], len(keys)
        columns = [
            pa.array(START_US + times, schema.field(0).type),
            pa.array(keys),
            pa.array(self._rng.integers(0, 1000, count)),
            pa.array(self._rng.random(count)),
            pa.array(np.char.add("label ", (keys % 1000).astype(str))),
        ]
        folder = self.dataset.files(side)
        hidden = folder / f".{self._written:05d}.parquet"
        pq.write_table(pa.table(columns, schema=schema), hidden)
        hidden.rename(folder / hidden.name[1:])
        self._written += 1


def has_rows(path: Path) -> bool:
    """Whether a file of results is complete and has rows in it."""
    try:
        return bool(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowInvalid):
        return False
