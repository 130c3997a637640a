"""`dovetail.window_join` over NumPy and Arrow, all at once, counted and in chunks."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

import dovetail
import oracle
from dovetail.errors import InputError
from dovetail.intra_window.knobs import Knobs

LEFT, RIGHT = [5, 3, 3, None, 9], [3, 5, None, 3]
PAIRS = [(0, 1), (1, 0), (1, 3), (2, 0), (2, 3)]


def as_list(pairs) -> list[tuple[int, int]]:
    return sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def test_arrow_with_nulls() -> None:
    left, right = pa.array(LEFT, pa.int64()), pa.array(RIGHT, pa.int64())
    assert as_list(dovetail.window_join(left, right)) == PAIRS
    assert dovetail.window_join_count(left, right, threads=1) == len(PAIRS)
    chunked = pa.chunked_array([left.slice(0, 2), left.slice(2)])
    assert as_list(dovetail.window_join(chunked, right, algorithm="shj_jb", threads=2)) == PAIRS


def test_numpy_and_chunks() -> None:
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 20, 300).astype(np.int32), rng.integers(0, 20, 200).astype(np.int32)
    expected = oracle.window_pairs(left.tolist(), right.tolist())
    assert as_list(dovetail.window_join(left, right)) == expected
    chunks = list(dovetail.window_join_chunks(left, right, "prj", 2, Knobs(chunk_pairs=100)))
    assert max(len(chunk.left) for chunk in chunks) <= 100
    assert sorted(pair for chunk in chunks for pair in as_list(chunk)) == expected


def test_chunks_that_nobody_takes_end_the_join() -> None:
    same = np.zeros(2000, np.int32)
    chunks = dovetail.window_join_chunks(same, same, "npj", 2, Knobs(chunk_pairs=64))
    next(chunks)
    chunks.close()
    assert [one.name for one in threading.enumerate() if one.name.startswith("window-join")] == []


def test_chunks_are_refused_at_the_call() -> None:
    with pytest.raises(InputError, match="unlike types: string and int32"):
        dovetail.window_join_chunks(np.array(["a"]), np.zeros(1, np.int32))
