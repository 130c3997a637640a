"""What the rows between joins take: one operator for all streams would save this much for certain.

Such an operator would slice the inputs, look for partners and write the result as the chain does. It would
not gather the rows between two joins, write them, commit them and gather them again, and it would take the
steps of one join. So this is done once more with the rows that a run has left between its joins, alone and in
this process, and the CPU time is set beside that of the run. Rows are gathered in random order, which takes
longer than the order of a join.
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
    """CPU seconds to gather all rows of these categories, to write and commit them again below `scratch`,
    commit by commit, and to gather what was written."""
    began = time.process_time()
    for name in categories:
        category = Category.open(home, name)
        copy = Category.create(str(scratch), name, category.schema, buckets=category.buckets, role="side")
        for commit in category.commits(category.first_commit(), category.next_commit()):
            if not commit.rows:
                continue  # it only promises
            written = write_side(copy, _batches(category, commit.number), Validity())
            append_parts(copy, [written], _PRODUCER, commit.number, None)
            _batches(copy, copy.next_commit() - 1)
    return time.process_time() - began


def _batches(category: Category, number: int) -> list[pa.RecordBatch]:
    commit, rows = category.commit(number), Rows(category, number, number + 1)
    numbers = np.random.default_rng(number).permutation(commit.rows) + commit.first_row
    taken = rows.at(rows.places(numbers))
    return [pa.record_batch([taken.take(name) for name in category.schema.names], schema=category.schema)]
