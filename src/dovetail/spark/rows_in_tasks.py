"""A function of Arrow batches over the rows of a DataFrame, in its tasks, whatever its columns are called.

`mapInArrow` looks each column up by its name, and takes a dot in it for a field of a struct. So columns with
such names have others on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = Iterator[pa.RecordBatch]

_NOT_AS_THEY_ARE = set(".`")


def in_tasks(rows: DataFrame, write: Callable[[Batches], Batches]) -> DataFrame:
    """One text for each batch that the function gives, in a column `written`."""
    names = rows.columns
    if any(_NOT_AS_THEY_ARE.intersection(name) for name in names):
        rows = rows.toDF(*(f"_{number}" for number in range(len(names))))
        write = RowsUnderNames(tuple(names), write)
    return rows.mapInArrow(write, "written string")


@dataclass(frozen=True)
class RowsUnderNames:
    """Runs inside the tasks: the columns have their names again."""

    names: tuple[str, ...]
    write: Callable[[Batches], Batches]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.write(batch.rename_columns(list(self.names)) for batch in batches)
