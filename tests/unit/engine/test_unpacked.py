"""Rows gathered from compressed segments, against the same rows in plain ones."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.engine import join_step
from dovetail.joins.rows.gather import Rows
from dovetail.log import blocks
from dovetail.log.cache import BLOCKS
from dovetail.log.category import Category
from dovetail.log.packer import Packer
from dovetail.model.interval import IntervalSpec
from wide_rows import put, wide_rows

from .workload import config, joined, offsets, random_rows, write_commits

STRUCT = pa.struct({"a": pa.int64(), "b": pa.string()})
ROWS_OF_SEGMENTS = (700, 1, 300, 40, 900)


def every_kind(count: int, seed: int) -> pa.RecordBatch:
    """Wide rows with columns of the types that are gathered each in its own way, with nulls."""
    rng = random.Random(seed)

    def column(value: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.2 else value(i) for i in range(count)], kind)

    added = {
        "flag": column(lambda i: i % 3 == 0, pa.bool_()),
        "amount": column(lambda i: i, pa.decimal128(20, 2)),
        "list": column(lambda i: [f"{i}"] * (i % 3), pa.list_(pa.string())),
        "struct": column(
            lambda i: {"a": i, "b": "x" * (i % 4)}, pa.struct({"a": pa.int64(), "b": pa.string()})
        ),
        "raw": column(lambda i: bytes([i % 256]) * (i % 5), pa.binary()),
        "nothing": column(lambda i: None, pa.null()),
    }
    batch = wide_rows(count, seed)
    return pa.record_batch({**dict(zip(batch.schema.names, batch.columns, strict=True)), **added})


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows]:
    """The same rows twice: plain, and compressed in some segments, in blocks of a few rows."""
    home = str(tmp_path_factory.mktemp("twins"))
    batches = [every_kind(count, seed) for seed, count in enumerate(ROWS_OF_SEGMENTS)]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", 2000)
        pack = Packer.pack
        patch.setattr(
            Packer,
            "pack",
            lambda self, batch, apart=None: None if len(batch) == 300 else pack(self, batch, apart),
        )
        for name in ("none", "zstd"):
            category = Category.create(home, name, batches[0].schema, buckets=4, compression=name)
            for batch in batches:
                put(category, batch)
            found.append(Rows(category, 0, len(batches)))
    return found[0], found[1]


TOTAL = sum(ROWS_OF_SEGMENTS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, TOTAL - 1), max_size=200) | st.permutations(range(-1, TOTAL)))
def test_any_rows_in_any_order(twins: tuple[Rows, Rows], wanted: list[int]) -> None:
    plain, packed = twins
    assert packed.packed
    assert not plain.packed
    rows = np.array(wanted, np.int64)
    expected, taken = plain.at(plain.places(rows)), packed.at(packed.places(rows))
    assert len(taken) == len(wanted)
    for name in every_kind(1, 0).schema.names:
        column = taken.take(name)
        column.validate(full=True)
        assert column.equals(expected.take(name)), name


def test_only_blocks_with_wanted_rows_are_unpacked(twins: tuple[Rows, Rows]) -> None:
    _, packed = twins
    BLOCKS.clear()
    batch = packed.at(packed.places(np.array([5, 6, -1, 5, 702], np.int64)))
    assert batch.unpacked is not None
    assert len(batch.unpacked) <= 2  # row 702 is in the plain segment
    assert len(BLOCKS.keys) == 0
    batch.take("url")
    batch.take("agent")
    assert len(BLOCKS.keys) == len(batch.unpacked)


def test_rows_count_uncompressed(twins: tuple[Rows, Rows]) -> None:
    """How many rows are gathered at a time depends on their width in memory."""
    plain, packed = twins
    assert packed.row_bytes == pytest.approx(plain.row_bytes, rel=0.2)


@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("unpacked_bytes", [1, 64 << 20])
def test_a_join_of_compressed_categories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Any, unpacked_bytes: int
) -> None:
    monkeypatch.setattr(join_step, "UNPACKED_BYTES", unpacked_bytes)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    results = []
    for compression in ("none", "zstd"):
        rng = random.Random(7)
        home = tmp_path / compression
        for side in ("left", "right"):
            write_commits(home, side, random_rows(rng, 400, 60), rng, 8, compression)  # type: ignore[arg-type]
        join = config(home, tmp_path / f"index-{compression}", IntervalSpec(50, 50, how), 8, 60)
        results.append([sorted(joined(join, start, end), key=str) for start, end in offsets(join, [2])])
    assert results[0] == results[1]
    assert sum(map(len, results[0])) > 100
