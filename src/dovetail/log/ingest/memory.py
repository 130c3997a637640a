"""Rows that a program has in memory, as a source: Arrow, pandas, polars, anything with Arrow's interface for
streams, and plain Python rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dovetail.errors import InputError
from dovetail.log.ingest.source import Progress, Reject, category_schema
from dovetail.log.schema import nulls

Rows = Any
"""An Arrow table, batch or reader, a pandas or polars DataFrame, a list of dicts, or a dict of columns."""
WHERE = "the rows that were appended"


@dataclass(frozen=True)
class MemorySource:
    table: pa.Table

    def infer(self) -> pa.Schema:
        return category_schema(self.table.schema, where=WHERE)

    def read(self, schema: pa.Schema, reject: Reject, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Columns by name; one that the rows do not have is null."""
        table = self.table
        for field in schema:
            if field.name not in table.schema.names and field.nullable:
                table = table.append_column(field, nulls(table.num_rows, field.type))
        yield from table.to_batches()


def as_table(rows: Rows) -> pa.Table:
    """The rows in Arrow's columns. No row is touched by Python, unless it is a row of Python."""
    try:
        if isinstance(rows, pa.Table):
            return rows
        if isinstance(rows, pa.RecordBatch):
            return pa.Table.from_batches([rows])
        if isinstance(rows, Mapping):
            return pa.table(dict(rows))
        if _is_pandas(rows):
            return pa.Table.from_pandas(rows, preserve_index=False)
        if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
            return pa.table(rows)
        if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
            names = dict.fromkeys(name for row in rows for name in row)
            return pa.table({name: [row.get(name) for row in rows] for name in names})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"the rows are not a table: {error}",
            where=WHERE,
            expected="columns of one type and one length each",
        ) from error
    raise InputError(
        f"rows cannot be a {type(rows).__name__}",
        where=WHERE,
        expected="an Arrow table or batch, a pandas or polars DataFrame, a list of dicts, a dict of columns",
    )


def _is_pandas(rows: Rows) -> bool:
    kind = type(rows)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
