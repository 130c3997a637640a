"""Homes elsewhere: other filesystems by URI, disks without hard links, places that cannot be written."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.errors import CategoryMismatch, CorruptFile, HomeError, LogTruncated
from dovetail.log.cache import Cache
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import absolute_home, open_store
from wide_rows import SCHEMA as WIDE
from wide_rows import put as put_wide
from wide_rows import wide_rows

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture(params=["memory", "file uri", "path"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A home on a filesystem in memory, one by a file: URI, one by a path."""
    return {"memory": f"mock:///{uuid.uuid4().hex}", "file uri": f"file://{tmp_path}", "path": str(tmp_path)}[
        request.param
    ]


def test_a_category_lives_on_any_filesystem(
    home: str, put: Any, ids: Any, forget: Callable[[], None]
) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    assert Category.create(home, "clicks", SCHEMA, buckets=4) == category
    with pytest.raises(CategoryMismatch):
        Category.create(home, "clicks", SCHEMA, buckets=5)
    for batch in range(4):
        rejected = [category.write_rejected(["x"], "bad")]
        category.append(put.write(category, batch * 10), producer="app", batch=batch, rejected=rejected)
    put(category, 30, producer="app", batch=3)
    forget()
    assert list_categories(home) == ["clicks"]
    category = Category.open(home, "clicks")
    assert category.next_commit() == 4
    assert sorted(ids(category)) == [*range(40)]
    assert category.read_rejected(category.commit(3).rejected[0]) == [{"reason": "bad", "raw": "x"}]
    category.set_reader("reader", 2)
    assert category.retain() == 2
    category.drop_reader("reader")
    with pytest.raises(LogTruncated):
        category.commit(0)
    put.write(category, 0)
    assert category.remove_orphans(grace_s=-1) == 2  # this one, and the one of the repeated batch
    assert sorted(ids(category)) == [*range(20, 40)]
    assert put(category, 40, producer="app", batch=4).first_row == 40


def test_compressed_rows_live_on_any_filesystem(home: str, forget: Callable[[], None]) -> None:
    category = Category.create(home, "wide", WIDE, buckets=4)
    rows = wide_rows(2000)
    for _ in range(2):
        commit = put_wide(category, rows)
    forget()
    segment = Category.open(home, "wide").open_segment(commit.segments[0])
    assert segment.info.packing is not None
    assert segment.info.packing.dictionary is not None
    assert sorted(segment.batch.column("url").to_pylist()) == sorted(rows.column("url").to_pylist())


def test_damage_elsewhere_is_noticed_too(home: str, put: Any) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    info = put(category, 0).segments[0]
    category.store.replace(f"{category.folder}/segments/{info.name}", b"short")
    with pytest.raises(CorruptFile):
        category.open_segment(info)
    category.store.delete(f"{category.folder}/segments/{info.name}")
    with pytest.raises(CorruptFile, match="missing"):
        category.open_segment(info)


def test_without_hard_links_writers_take_turns(
    tmp_path: Path, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    category = Category.create(str(tmp_path), "clicks", SCHEMA, buckets=4)
    assert Category.create(str(tmp_path), "clicks", SCHEMA, buckets=4) == category
    for batch in range(3):
        put(category, batch * 10, producer="app", batch=batch)
    assert not category.store.create(f"{category.folder}/commits/{1:020d}.json", b"another")
    assert sorted(ids(category)) == [*range(30)]


def test_a_home_is_the_same_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    category = Category.create(".dovetail", "clicks", SCHEMA)
    monkeypatch.chdir("/")
    assert category.home == str(tmp_path / ".dovetail")
    assert category.next_commit() == 0
    assert absolute_home("s3://bucket/x") == "s3://bucket/x"


@pytest.mark.parametrize("below", ["file", "file/deeper"])
def test_a_home_that_cannot_be_is_one_clear_error(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HomeError, match="cannot") as caught:
        Category.create(str(tmp_path / below), "clicks", SCHEMA)
    assert "--home" in (caught.value.hint or "")
    assert str(tmp_path / "file") in (caught.value.where or "")


@pytest.mark.parametrize("call", ["fsync", "link", "rename"])
def test_a_full_disk_is_a_home_error_and_leaves_no_litter(
    category: Category, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    put(category, 0)

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(HomeError, match="No space left"):
            put(category, 10)
    assert not [*Path(category.where).rglob(".tmp-*")]
    assert sorted(ids(category)) == [*range(10)]
    put(category, 10)
    assert sorted(ids(category)) == [*range(20)]


def test_an_unknown_scheme_is_one_clear_error() -> None:
    with pytest.raises(HomeError, match="cannot be opened"):
        open_store("gopher://somewhere/x")


def test_a_cache_keeps_what_was_used_last() -> None:
    cache: Cache[str] = Cache(max_entries=3, max_bytes=100)
    for key in "abc":
        cache.put(key, key.upper(), 10)
    assert cache.get("a") == "A"
    cache.put("d", "D", 10)
    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    cache.put("big", "BIG", 95)
    assert [cache.get(key) for key in ("a", "c", "d", "big")] == [None, None, None, "BIG"]
    cache.put("big", "BIG", 5)
    cache.put("a", "A", 90)
    assert cache.get("big") == "BIG"
