"""What comes out of a version while it is previewed, in files of this process: hours of rows may be more than
memory holds."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.ipc


class RowsAside:
    """Rows by table, in the order in which they came."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: dict[str, tuple[pa.ipc.RecordBatchFileWriter, str]] = {}

    def put(self, table: str, rows: pa.Table) -> None:
        if table not in self._open:
            os.makedirs(self._folder, exist_ok=True)
            path = f"{self._folder}/{len(self._open)}.arrow"
            self._open[table] = pa.ipc.new_file(path, rows.schema), path
        self._open[table][0].write_table(rows)

    def tables(self) -> dict[str, pa.Table]:
        """All of them, mapped. Nothing can be put any more."""
        found = {}
        for name, (writer, path) in self._open.items():
            writer.close()
            found[name] = pa.ipc.open_file(pa.memory_map(path)).read_all()
        return found
