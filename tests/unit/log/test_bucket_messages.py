"""Segments as messages of one bucket each: the same rows, on a home on disk that keeps them so."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.errors import CorruptFile
from dovetail.log import bucket_messages, history
from dovetail.log.category import Category
from dovetail.log.homes.local import LocalStore
from home_files import content
from unit.log.conftest import SCHEMA as CLICKS
from unit.log.test_log_corruption import (  # noqa: F401
    filled,
    packed,
    rewrite,
    test_a_damaged_compressed_category_is_noticed,
    test_a_damaged_file_is_noticed,
)
from unit.log.test_log_round_trip import test_every_type_comes_back  # noqa: F401

LIMIT = 20_000


@pytest.fixture(autouse=True)
def _in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStore, "message_bytes", LIMIT)


@pytest.fixture
def samples() -> int:
    return 15


def messages(data: bytes) -> list[tuple[int, int, int]]:
    """For a segment's bytes, for each message its bucket, rows and size, read by Arrow alone."""
    found, source = [], pa.BufferReader(data)
    while (begin := source.tell()) < len(data):
        with pa.ipc.open_stream(source) as stream:
            bucket = int(stream.schema.metadata[b"dovetail.bucket"])
            found.append((bucket, stream.read_all().num_rows, source.tell() - begin))
    return found


def test_a_message_is_a_batch_of_one_bucket_up_to_a_size(category: Category, put: Any) -> None:
    info = put(category, 0, 10_000).segments[0]
    found = messages(content(category, info.own_path))
    assert sum(rows for _, rows, _ in found) == 10_000
    assert all(one <= other for (one, *_), (other, *_) in pairwise(found))
    assert {bucket for bucket, _, _ in found} == {0, 1, 2, 3}
    assert len(found) == 16
    assert all(size <= LIMIT for _, _, size in found)


def test_a_bucket_without_rows_has_no_message(category: Category) -> None:
    rows = pa.RecordBatch.from_pydict({"id": [1, 2], "name": ["a", "b"]}, schema=category.schema)
    infos = category.write_segments([rows], lambda _: np.array([2, 2]), lambda _: None)
    assert [bucket for bucket, _, _ in messages(content(category, infos[0].own_path))] == [2]
    assert category.open_segment(infos[0]).starts.tolist() == [0, 0, 0, 2, 2]


def test_a_row_larger_than_a_message_is_one_by_itself(homes: Any) -> None:
    category = Category.create(homes("home"), "clicks", CLICKS, buckets=4, compression="none")
    large = os.urandom(25_000).hex()
    rows = pa.RecordBatch.from_pydict({"id": [1, 2, 3], "name": ["a", large, "b"]}, schema=category.schema)
    (info,) = category.write_segments([rows], lambda _: np.array([0, 0, 3]), lambda _: None)
    found = messages(content(category, info.own_path))
    assert [(bucket, count) for bucket, count, _ in found] == [(0, 1), (0, 1), (3, 1)]
    assert [size > LIMIT for _, _, size in found] == [False, True, False]
    category.append([info])
    history.forget()
    (placed,) = category.commit(0).segments
    assert category.open_segment(placed).batch.to_pylist() == rows.to_pylist()


@pytest.mark.parametrize(
    "order", [[1, 0], [0], [0, 1, 1], []], ids=["swapped", "one is missing", "one twice", "none"]
)
def test_messages_that_are_not_the_segment(category: Category, put: Any, order: list[int]) -> None:
    """Each is sound by itself, and the checksum is that of what is there."""
    put(category, 0, 10)
    data = content(category, category.commit(0).segments[0].own_path)
    ends = np.cumsum([0, *(size for _, _, size in messages(data))])
    pieces = [data[start:stop] for start, stop in pairwise(ends)]
    info = rewrite(category, lambda path, _: path.write_bytes(b"".join(pieces[n] for n in order)))
    history.forget()
    with pytest.raises(CorruptFile):
        category.open_segment(info)


def test_what_is_no_message_has_no_bucket() -> None:
    assert bucket_messages.bucket_of(pa.py_buffer(b"nothing")) == ""
    plain = pa.BufferOutputStream()
    with pa.ipc.new_stream(plain, pa.schema([("a", pa.int64())])):
        pass
    assert bucket_messages.bucket_of(plain.getvalue()) == ""
