"""A category that is appended to for ever has few files, and each of its rows can still be read.

The suite appends some thousand commits with bundles so small that they are merged often.
`DOVETAIL_COMMITS=100000 pytest tests/unit/log/test_log_long_run.py` takes minutes, with the usual bundles.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.log import compaction
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape

SAMPLE = 2_000
COMMITS = int(os.environ.get("DOVETAIL_COMMITS", SAMPLE))


def test_files_stay_few(
    category: Category, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if COMMITS == SAMPLE:
        monkeypatch.setattr(compaction, "SHAPE", FileShape(span=16, fan=16, recent=16))
    shape = compaction.SHAPE
    most = 0
    for number in range(COMMITS):
        append(category, number)
        if number % 100 == 0:
            most = max(most, sum(len(files) for _, _, files in os.walk(category.where)))
    forget()
    assert category.next_commit() == COMMITS
    wide = COMMITS // (shape.span * shape.fan)
    young = 2 * (shape.recent + 2 * shape.span)  # a commit and a segment each
    assert most < young + 2 * (2 * shape.fan) + 2 * wide + 10
    row = 0
    for number in range(0, COMMITS, max(1, COMMITS // 500)):
        commit = category.commit(number)
        assert (commit.first_row, commit.producers) == (number, {"app": number})
        batch: Any = category.open_segment(commit.segments[0]).batch
        assert batch.column("id").to_pylist() == [number]
        row += 1
    assert row >= 500


def append(category: Category, number: int) -> None:
    rows = pa.RecordBatch.from_pydict({"id": [number], "name": ["x"]}, schema=category.schema)
    bucket = np.array([number % category.buckets])
    segments = category.write_segments([rows], lambda batch: bucket, lambda batch: None)
    category.append(segments, producer="app", batch=number)
