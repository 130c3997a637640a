"""Compressed payload: the same rows, fewer bytes, and a dictionary that follows the data."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.errors import CategoryMismatch, CorruptFile, InputError, LogTruncated
from dovetail.log import blocks
from dovetail.log.blocks import BLOCK_BYTES, cut
from dovetail.log.cache import BLOCKS
from dovetail.log.category import Category
from dovetail.log.commit import Packing, SegmentInfo
from wide_rows import SCHEMA, noise, put, wide_rows


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Category]:
    def create(compression: Any = "auto", name: str = "wide", schema: pa.Schema = SCHEMA) -> Category:
        return Category.create(str(tmp_path), name, schema, buckets=4, compression=compression)

    return create


def packings(category: Category) -> list[Packing | None]:
    commits = category.commits(category.first_commit(), category.next_commit())
    return [info.packing for commit in commits for info in commit.segments]


def dictionaries(category: Category) -> list[Path]:
    return sorted(Path(category.where, "dictionaries").glob("*.json"))


def rows_of(category: Category) -> list[dict[str, Any]]:
    commits = category.commits(category.first_commit(), category.next_commit())
    return [
        row
        for commit in commits
        for info in commit.segments
        for row in category.open_segment(info).batch.to_pylist()
    ]


def test_wide_rows_shrink_and_come_back(make: Any, forget: Callable[[], None]) -> None:
    packed, plain = make("auto", "packed"), make("none", "plain")
    for category in (packed, plain):
        put(category, wide_rows(6000))
        put(category, wide_rows(500, seed=2))
    (first, second), untouched = packings(packed), packings(plain)
    assert untouched == [None, None]
    assert first is not None
    assert first.ratio > 3
    assert second is not None
    assert second.dictionary == first.dictionary == dictionaries(packed)[0].stem
    assert packed.commit(0).bytes < plain.commit(0).bytes / 2
    forget()
    assert rows_of(packed) == rows_of(plain)


def test_keys_hashes_and_times_stay_mapped(make: Any) -> None:
    category = make()
    segment = category.open_segment(put(category, wide_rows(6000)).segments[0])
    assert segment.mapped.schema.names == ["_hash", "_time", "_key_0"]
    assert segment.batch.schema.equals(SCHEMA)
    assert len(segment.blocks) > 20
    before = pa.total_allocated_bytes()
    segment.mapped.column("_hash").to_numpy()
    assert pa.total_allocated_bytes() == before


def test_one_row_unpacks_one_block(make: Any) -> None:
    category = make()
    segment = category.open_segment(put(category, wide_rows(6000)).segments[0])
    block = segment.blocks.block(3)
    assert block.equals(segment.blocks.block(3))
    assert BLOCKS.keys == [(segment.info.name, 3)]
    start = int(segment.blocks.starts[3])
    assert block.to_pylist() == segment.batch.select(SCHEMA.names[3:]).slice(start, len(block)).to_pylist()
    assert block.nbytes < 2 * BLOCK_BYTES


@pytest.mark.parametrize(
    ("compression", "rows", "packs"),
    [
        ("auto", wide_rows(4000), True),
        ("auto", noise(1500), False),
        ("zstd", noise(1500), True),
        ("none", wide_rows(4000), False),
    ],
)
def test_where_it_pays(make: Any, compression: str, rows: pa.RecordBatch, packs: bool) -> None:
    category = make(compression)
    put(category, rows)
    assert [packing is not None for packing in packings(category)] == [packs]
    assert bool(dictionaries(category)) == packs
    assert len(rows_of(category)) == len(rows)


def test_narrow_rows_stay_as_they_are(make: Any) -> None:
    schema = pa.schema([*(SCHEMA.field(i) for i in range(3)), pa.field("name", pa.string())])
    rows = (
        wide_rows(4000).select(["_hash", "_time", "_key_0"]).append_column("name", pa.array(["same"] * 4000))
    )
    narrow, forced = make("auto", "narrow", schema), make("zstd", "forced", schema)
    for category in (narrow, forced):
        put(category, rows.cast(schema))
    assert packings(narrow) == [None]
    assert packings(forced)[0] is not None
    assert rows_of(forced) == rows_of(narrow)


def test_small_commits_are_trained_on_together(make: Any) -> None:
    category = make()
    for seed in range(40):
        put(category, wide_rows(100, seed))
    found = [packing for packing in packings(category) if packing]
    assert found[0].dictionary is None
    assert found[-1].dictionary is not None
    assert found[-1].ratio > 1.3 * found[0].ratio
    assert len(dictionaries(category)) == 1


def test_a_dictionary_is_trained_anew_when_rows_drift(make: Any) -> None:
    category = make()
    for seed in range(12):
        put(category, wide_rows(2500, seed))
    assert len(dictionaries(category)) == 1
    drifting = [put(category, wide_rows(2500, seed, flavour="hotels")) for seed in range(12)]
    assert len(dictionaries(category)) == 2
    (old, *_, new) = [commit.segments[0].packing for commit in drifting]
    assert old is not None
    assert new is not None
    assert old.dictionary != new.dictionary
    assert new.ratio > 1.1 * old.ratio
    assert len(rows_of(category)) == 24 * 2500


def test_small_segments_after_large_ones_are_no_drift(make: Any) -> None:
    category = make()
    put(category, wide_rows(8000))
    for seed in range(60):
        put(category, wide_rows(5, seed))
    assert len(dictionaries(category)) <= 2
    assert all(packings(category))


def test_two_writers_may_train_one_each(make: Any) -> None:
    category = make()
    both = [
        info
        for seed in (1, 2)
        for info in category.write_segments(
            [wide_rows(3000, seed)], lambda rows: np.zeros(len(rows), int), lambda rows: None
        )
    ]
    category.append(both)
    assert len(dictionaries(category)) == 2
    put(category, wide_rows(3000, 3))
    first, second, third = packings(category)
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.dictionary != second.dictionary == third.dictionary
    assert len(rows_of(category)) == 9000


def test_a_huge_row_has_its_neighbours_blocks_to_itself() -> None:
    sizes = [10] * 5000 + [5_000_000] + [10] * 5000
    ends = cut(pa.record_batch({"text": ["x" * size for size in sizes]}))
    starts = np.append(0, ends[:-1])
    assert ends[-1] == len(sizes)
    assert (ends > starts).all()
    assert max(ends - starts) <= BLOCK_BYTES // 10 + 1
    assert len(ends) > 5


@pytest.mark.parametrize("text", ["", "x", "x" * 3_000_000, None])
def test_segments_of_one_row(make: Any, text: str | None) -> None:
    category = make("zstd", schema=pa.schema([("text", pa.string())]))
    infos = category.write_segments(
        [pa.record_batch({"text": pa.array([text], pa.string())})],
        lambda rows: np.zeros(len(rows), int),
        lambda rows: None,
    )
    category.append(infos)
    assert rows_of(category) == [{"text": text}]


def test_a_payload_column_may_have_the_blocks_name(make: Any) -> None:
    schema = pa.schema([("_payload", pa.string()), ("_key_0", pa.int64())])
    category = make("zstd", schema=schema)
    rows = pa.record_batch([pa.array(["a", "b"]), pa.array([1, 2])], schema=schema)
    category.append(category.write_segments([rows], lambda r: np.zeros(len(r), int), lambda r: None))
    assert rows_of(category) == rows.to_pylist()


def test_unpacked_blocks_are_bounded(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BLOCKS, "max_bytes", 5 * BLOCK_BYTES)
    category = make()
    segment = category.open_segment(put(category, wide_rows(6000)).segments[0])
    for number in range(len(segment.blocks)):
        segment.blocks.block(number)
    assert BLOCKS.bytes <= 5 * BLOCK_BYTES
    assert 1 <= len(BLOCKS.keys) <= 5


def test_the_choice_is_kept_and_explained(make: Any, tmp_path: Path) -> None:
    made = make("zstd")
    assert Category.open(str(tmp_path), "wide").definition.compression == "zstd"
    assert make("auto") == made  # who leaves it to the category may write to it
    with pytest.raises(CategoryMismatch, match="compression zstd"):
        make("none")
    with pytest.raises(InputError, match="compression cannot be 'gzip'"):
        make("gzip", "other")


def test_infos_travel_as_json(make: Any) -> None:
    info = put(make(), wide_rows(4000)).segments[0]
    again = SegmentInfo.from_json(info.to_json())
    assert again.packing == info.packing
    assert SegmentInfo.from_json({k: v for k, v in info.to_json().items() if k != "packing"}).packing is None


def age(path: Path) -> None:
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(path, (long_ago, long_ago))


def test_retention_removes_dictionaries_that_no_segment_names(make: Any) -> None:
    category = make()
    for flavour in ("shop", "hotels"):
        for seed in range(6):
            put(category, wide_rows(2500, seed, flavour=flavour))
    old, new = packings(category)[0], packings(category)[-1]
    assert old is not None
    assert new is not None
    assert {path.stem for path in dictionaries(category)} == {old.dictionary, new.dictionary}
    for path in dictionaries(category):
        age(path)
    category.set_reader("reader", 5)
    category.retain()
    assert len(dictionaries(category)) == 2  # commit 5 still names the old one
    category.set_reader("reader", 11)
    category.retain()
    assert [path.stem for path in dictionaries(category)] == [new.dictionary]
    assert len(rows_of(category)) == 2500


def test_trimming_removes_dictionaries_that_never_came_into_a_commit(make: Any) -> None:
    category = make()
    put(category, wide_rows(3000))
    stray = Path(category.where, "dictionaries", "0123456789abcdef.json")
    stray.write_bytes(b"{}")
    assert category.remove_orphans() == 0
    age(stray)
    assert category.remove_orphans() == 1
    assert not stray.exists()
    assert len(rows_of(category)) == 3000


def test_a_segment_that_was_trimmed_before_it_was_unpacked(make: Any, forget: Callable[[], None]) -> None:
    category = make()
    for flavour in ("shop", "hotels"):
        for seed in range(6):
            put(category, wide_rows(2500, seed, flavour=flavour))
    forget()
    segment = category.open_segment(category.commit(0).segments[0])
    for path in dictionaries(category):
        age(path)
    category.set_reader("reader", 11)
    category.retain()
    with pytest.raises(LogTruncated):
        assert segment.batch


def test_a_young_dictionary_stays_for_a_commit_to_come(make: Any) -> None:
    category = make()
    infos = category.write_segments([wide_rows(4000)], lambda r: np.zeros(len(r), int), lambda r: None)
    for seed in range(3):
        put(category, noise(300, seed))
    category.set_reader("reader", 2)
    assert category.retain() == 2
    category.append(infos)
    assert len(rows_of(category)) == 4300


def test_a_commit_never_names_a_dictionary_that_is_gone(make: Any) -> None:
    category = make()
    infos = category.write_segments([wide_rows(4000)], lambda r: np.zeros(len(r), int), lambda r: None)
    dictionaries(category)[0].unlink()
    with pytest.raises(CorruptFile, match="a dictionary is missing") as caught:
        category.append(infos)
    assert "write again" in (caught.value.hint or "")
    assert category.next_commit() == 0


def test_a_writer_without_its_dictionary_trains_another(make: Any, forget: Callable[[], None]) -> None:
    category = make()
    put(category, wide_rows(4000))
    dictionaries(category)[0].write_bytes(b"")
    forget()
    put(category, wide_rows(4000, seed=2))
    first, second = packings(category)
    assert first is not None
    assert second is not None
    assert first.dictionary != second.dictionary
    segment = category.commit(1).segments[0]
    assert category.open_segment(segment).batch.num_rows == 4000


def test_blocks_are_named_payload() -> None:
    assert not blocks.is_mapped("_payload")
    assert not blocks.is_mapped("_key_x")
    assert not blocks.is_mapped("my_hash")
    assert all(map(blocks.is_mapped, ("_hash", "_time", "_key_0", "_key_17")))
