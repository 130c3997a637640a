"""What the rows between joins take: at most this much could one operator for all streams save.

Such an operator would slice the inputs, look for partners and write the result as the chain does. It would
not write the rows between two joins, commit them and read them back, and it would take the steps of one join.
So the rows that a run has left between its joins are read and written once more, alone and in this process,
and their CPU time is set beside that of the run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.joins.rows.gather import Rows
from dovetail.log.category import Category
from dovetail.model.validity import Validity
from dovetail.slicing.sides import append_parts, write_side

_PRODUCER = "bench.between"


def once_more_cpu_s(home: str, categories: Sequence[str], scratch: Path) -> float:
    """CPU seconds to read all rows of these categories, and to write and commit them again below `scratch`,
    commit by commit."""
    began = time.process_time()
    for name in categories:
        category = Category.open(home, name)
        copy = Category.create(str(scratch), name, category.schema, buckets=category.buckets, role="side")
        for number in range(category.first_commit(), category.next_commit()):
            written = write_side(copy, _batches(category, number), Validity())
            append_parts(copy, [written], _PRODUCER, number, None)
    return time.process_time() - began


def _batches(category: Category, number: int) -> list[pa.RecordBatch]:
    commit, rows = category.commit(number), Rows(category, number, number + 1)
    taken = rows.at(rows.places(np.arange(commit.first_row, commit.first_row + commit.rows)))
    return [pa.record_batch([taken.take(name) for name in category.schema.names], schema=category.schema)]
