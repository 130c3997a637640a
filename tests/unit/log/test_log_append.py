"""Commits are dense, atomic and exactly once, whoever writes and however often."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.errors import CorruptFile, StateError
from dovetail.log import document
from dovetail.log.cache import COMMITS
from dovetail.log.category import Category
from dovetail.slicing.covered_commits import last_of
from home_files import change, content, matching, names, remove


def test_a_batch_enters_once(category: Category, put: Any, ids: Any) -> None:
    assert category.last_batch("app") == -1
    first = put(category, 0, producer="app", batch=0)
    second = put(category, 100, producer="app", batch=1)
    other = put(category, 200, producer="other", batch=0)
    assert put(category, 0, producer="app", batch=0) == first
    assert put(category, 100, producer="app", batch=1) == second
    assert put(category, 200, producer="other", batch=0) == other
    assert [commit.number for commit in (first, second, other)] == [0, 1, 2]
    assert category.commit(2).producers == {"app": 1, "other": 0}
    assert [category.last_batch(producer) for producer in ("app", "other", "nobody")] == [1, 0, -1]
    assert sorted(ids(category)) == [*range(10), *range(100, 110), *range(200, 210)]


def test_the_last_commit_of_a_producer_is_found_without_reading_those_since(
    category: Category, put: Any, forget: Callable[[], None]
) -> None:
    put(category, 0, 1, producer="quiet", batch=7)
    put(category, 1, 1, producer="gone", batch=0)
    for batch in range(500):
        put(category, batch, 1, producer="busy", batch=batch)
    forget()
    assert [category.last_of(name) for name in ("quiet", "gone", "nobody")] == [0, 1, None]
    assert last_of(category, "busy") == category.commit(501)
    assert len(COMMITS.keys) < 40
    category.set_reader("here", 2)
    category.retain()
    assert category.first_commit() == 2
    assert last_of(category, "quiet") is None
    assert last_of(category, "busy") == category.commit(501)


def test_a_repeated_batch_gives_its_commit_among_many(category: Category, put: Any) -> None:
    for batch in range(20):
        put(category, batch, 1, producer="even" if batch % 2 == 0 else "odd", batch=batch)
    for batch in range(20):
        producer = "even" if batch % 2 == 0 else "odd"
        assert put(category, batch, 1, producer=producer, batch=batch).number == batch
    # Batch 3 of "even" had no rows and made no commit: the next one of that producer stands for it.
    assert put(category, 3, 1, producer="even", batch=3).number == 4
    assert category.next_commit() == 20


def test_nothing_to_append_is_no_commit(category: Category, put: Any) -> None:
    assert category.append([], producer="app", batch=0) is None
    assert put(category, 0, 0) is None
    assert category.next_commit() == 0


def test_without_a_producer_every_call_commits(category: Category, put: Any) -> None:
    infos = put.write(category, 0)
    assert [category.append(infos).number for _ in range(3)] == [0, 1, 2]
    assert category.commit(2).producers == {}
    assert category.commit(2).first_row == 20


def test_the_segments_of_a_commit_are_numbered_in_their_order(category: Category, put: Any, ids: Any) -> None:
    put(category, 0, 5)
    infos = [info for first in (5, 20, 30) for info in put.write(category, first, 4)]
    commit = category.append(infos)
    assert commit is not None
    assert [segment.first_row for segment in commit.segments] == [5, 9, 13]
    assert [segment.commit for segment in commit.segments] == [1, 1, 1]
    assert (commit.rows, commit.next_row) == (12, 17)
    assert len(ids(category)) == 17


def test_a_producer_needs_a_batch(category: Category, put: Any) -> None:
    with pytest.raises(ValueError, match="go together"):
        put(category, 0, producer="app")


def test_rejected_rows_are_named_and_read_back(category: Category) -> None:
    info = category.write_rejected(["{bad", "ü\udc80"], ["no JSON", "no UTF-8"])
    commit = category.append([], rejected=[info])
    assert commit is not None
    assert (commit.rows, commit.rejected_rows) == (0, 2)
    assert "{bad" in info.sample
    (kept,) = category.commit(0).rejected
    assert category.read_rejected(kept) == [
        {"reason": "no JSON", "raw": "{bad"},
        {"reason": "no UTF-8", "raw": "ü\udc80"},
    ]
    change(category, f"rejected/{kept.file}", b"x")
    with pytest.raises(CorruptFile, match="corrupt"):
        category.read_rejected(kept)
    remove(category, f"rejected/{kept.file}")
    with pytest.raises(CorruptFile, match="missing"):
        category.read_rejected(kept)


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_a_commit_names_no_file_that_is_not_there(category: Category, put: Any, damage: str) -> None:
    (info,) = put.write(category, 0)
    path = f"segments/{info.name}"
    if damage == "missing":
        remove(category, path)
    else:
        change(category, path, content(category, path)[:-1])
    with pytest.raises(CorruptFile, match="cannot commit"):
        category.append([info])
    assert category.next_commit() == 0


def test_next_commit_looks_only_at_what_is_new(
    category: Category, put: Any, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        put(category, number, 1)
    forget()
    assert category.next_commit() == 5

    def listing(self: object, folder: str) -> None:
        raise AssertionError("listed")

    monkeypatch.setattr(type(category.store), "files", listing)
    assert category.next_commit() == 5
    put(category, 5, 1)
    assert category.next_commit(known=3) == 6
    forget()
    assert category.next_commit(known=5) == 6


def test_a_log_shorter_than_what_was_read_is_an_error(category: Category, put: Any) -> None:
    put(category, 0)
    put(category, 10)
    with pytest.raises(StateError, match="has 2 commits, but 9"):
        category.next_commit(known=9)
    with pytest.raises(StateError, match="no commit 2 yet"):
        category.commit(2)


def test_a_lost_commit_is_an_error(category: Category, put: Any, forget: Callable[[], None]) -> None:
    for number in range(3):
        put(category, number, 1)
    remove(category, f"commits/{1:020d}.json")
    forget()
    assert category.next_commit() == 3
    with pytest.raises(CorruptFile, match="a commit is missing"):
        category.commits(0, 3)


def test_threads_append_at_once(category: Category, put: Any, ids: Any) -> None:
    def work(worker: int) -> None:
        for batch in range(8):
            # Two threads try each producer's batches: one of them wins, the other finds it there.
            put(category, 1000 * (worker // 2) + 10 * batch, producer=f"p{worker // 2}", batch=batch)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert category.next_commit() == 24
    assert sorted(ids(category)) == [1000 * p + i for p in range(3) for i in range(80)]
    assert category.commit(23).producers == {"p0": 7, "p1": 7, "p2": 7}


_WRITER = """
import sys, numpy as np, pyarrow as pa
from dovetail.log.category import Category
home, producer = sys.argv[1:]
category = Category.create(home, "clicks", pa.schema([("id", pa.int64())]), buckets=2)
for batch in range(10):
    rows = pa.RecordBatch.from_pydict({"id": np.arange(batch * 10, batch * 10 + 10)})
    infos = category.write_segments([rows], lambda r: r.column(0).to_numpy() % 2, lambda r: None)
    category.append(infos, producer=producer, batch=batch)
    category.append(infos)
"""


def test_processes_make_the_category_and_append_at_once(homes: Callable[[str], str], ids: Any) -> None:
    source = str(Path(dovetail.__file__).parents[1])
    commands = [[sys.executable, "-c", _WRITER, homes("home"), producer] for producer in "aa"]
    writers = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": source}) for command in commands]
    assert [writer.wait(300) for writer in writers] == [0, 0]
    category = Category.open(homes("home"), "clicks")
    # 10 batches of the one producer, and 10 appends without a producer by each of the two writers
    assert category.next_commit() == 30
    assert sorted(ids(category)) == sorted(3 * [*range(100)])
    assert not [one for part in ("", "commits", "segments") for one in matching(category, f"{part}/.tmp-*")]


def test_a_writer_that_slept_through_retention_finds_the_end(
    category: Category, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has chosen number 1; others use 1 and 2, all is read and trimmed, and 1 is free again."""
    put(category, 0, producer="app", batch=0)
    store, create = category.store, type(category.store).create
    slept = []

    def slow_create(self: Any, path: str, data: bytes) -> bool:
        if not slept:
            slept.append(path)
            put(category, 10, producer="app", batch=1)
            put(category, 20, producer="app", batch=2)
            category.set_reader("reader", 2)
            assert category.retain() == 2
        return create(self, path, data)

    monkeypatch.setattr(type(store), "create", slow_create)
    commit = put(category, 30, producer="late", batch=0)
    assert slept == [f"log/clicks/commits/{1:020d}.json"]
    assert commit.number == 3
    assert sorted(ids(category)) == [*range(20, 40)]
    assert category.commit(3).producers == {"app": 2, "late": 0}
    assert names(category, "commits") == [f"{number:020d}.json" for number in (2, 3)]


def test_documents_say_what_they_are() -> None:
    data = document.encode("kind", 1, {"a": "ü"})
    assert document.decode(data, "kind", 1, where="here", remedy="") == {"a": "ü"}
