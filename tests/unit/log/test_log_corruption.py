"""Files that were changed after they were written: the right answer or a documented error, nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
import zstandard

from dovetail.errors import CorruptFile, DovetailError, UnknownVersion
from dovetail.log import document, history
from dovetail.log.category import Category
from home_files import change, content, matching, remove
from wide_rows import SCHEMA as WIDE
from wide_rows import put as put_wide
from wide_rows import wide_rows

NAME = "clicks"
DOCUMENTS = ("category.json", "first.json", "readers/*.json", "commits/*1.json")


@pytest.fixture
def filled(category: Category, put: Any) -> Category:
    category.append(put.write(category, 0, 50), rejected=[category.write_rejected(["{bad"], "no JSON")])
    put(category, 50, producer="app", batch=0)
    category.set_reader("reader", 1)
    category.retain()
    put(category, 60)
    return category


def everything(home: str) -> Any:
    """All that a reader can see."""
    category = Category.open(home, NAME)
    commits = category.commits(category.first_commit(), category.next_commit())
    rows = [category.open_segment(info).batch.to_pylist() for commit in commits for info in commit.segments]
    kept = [category.read_rejected(info) for commit in commits for info in commit.rejected]
    return category, commits, rows, kept, category.readers()


@pytest.fixture
def samples() -> int:
    """Places where a file is damaged."""
    return 150


def damaged(data: bytes, samples: int) -> Iterator[bytes]:
    """Bits flipped all over the file, and the file cut short at many places."""
    for position in range(0, len(data), max(1, len(data) // samples)):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        yield bytes(flipped)
    for length in range(0, len(data), max(1, 4 * len(data) // samples)):
        yield data[:length]
    yield data + b"\0"
    yield b"\0" * len(data)


def rewritten(
    category: Category, path: str, edit: Callable[[dict[str, Any]], object], version: int | None = None
) -> None:
    """A document with a changed body, or of another version, and a checksum that fits."""
    found = json.loads(content(category, path))
    edit(found["body"])
    change(category, path, document.encode(found["format"], version or found["version"], found["body"]))
    history.forget()


@pytest.mark.parametrize("pattern", [*DOCUMENTS, "commits/*2.json", "segments/*.arrow"])
def test_a_damaged_file_is_noticed(filled: Category, pattern: str, samples: int) -> None:
    assert_noticed(filled, matching(filled, pattern)[0], samples)


def assert_noticed(category: Category, path: str, samples: int) -> None:
    expected, data = everything(category.home), content(category, path)
    noticed: list[DovetailError] = []
    for changed in damaged(data, samples):
        change(category, path, changed)
        history.forget()
        try:
            assert everything(category.home) == expected
        except (CorruptFile, UnknownVersion) as error:
            noticed.append(error)
    assert len(noticed) > 0.9 * sum(1 for _ in damaged(data, samples))
    name = path.rpartition("/")[2]
    assert all(name in (error.where or "") and error.hint for error in noticed)
    change(category, path, data)
    history.forget()
    assert everything(category.home) == expected


def test_a_damaged_file_of_rejected_rows_is_noticed(category: Category, samples: int) -> None:
    info = category.write_rejected(["{bad", "worse"], "no JSON")
    path = f"rejected/{info.file}"
    for changed in damaged(content(category, path), samples):
        change(category, path, changed)
        with pytest.raises(CorruptFile):
            category.read_rejected(info)


@pytest.mark.parametrize("pattern", DOCUMENTS)
def test_a_later_version_names_the_remedy(filled: Category, pattern: str) -> None:
    rewritten(filled, matching(filled, pattern)[0], lambda body: None, version=99)
    with pytest.raises(UnknownVersion, match="version 99") as caught:
        everything(filled.home)
    assert "release" in (caught.value.hint or "")


@pytest.mark.parametrize("pattern", DOCUMENTS)
@pytest.mark.parametrize("body", [{}, [], None, {"name": 3}, {"segments": 3}])
def test_a_sound_file_with_a_senseless_body(filled: Category, pattern: str, body: Any) -> None:
    path = matching(filled, pattern)[0]
    found = json.loads(content(filled, path))
    change(filled, path, document.encode(found["format"], found["version"], body))
    history.forget()
    with pytest.raises(CorruptFile):
        everything(filled.home)


def test_a_commit_of_another_number_or_category_is_refused(filled: Category, put: Any) -> None:
    one, two = (f"commits/{number:020d}.json" for number in (1, 2))
    other = Category.create(filled.home, "other", filled.schema, buckets=4)
    put(other, 0)
    put(other, 10)
    for wrong in (content(filled, two), content(other, one)):
        change(filled, one, wrong)
        history.forget()
        with pytest.raises(CorruptFile, match="not this one"):
            filled.commit(1)


def rewrite(category: Category, write: Callable[[Any, pa.RecordBatch], None]) -> Any:
    """Replace commit 0's segment by another file, whose checksum the info then carries."""
    info = category.commit(0).segments[0]
    batch = category.open_segment(info).batch
    path = Path(category.where, "segments", f"other-{info.name}")
    write(path, batch)
    data = path.read_bytes()
    fields = {
        **info.__dict__,
        "name": path.name,
        "bytes": len(data),
        "checksum": xxhash.xxh3_64_hexdigest(data),
    }
    return type(info)(**fields)


def metadata(**changes: str) -> dict[str, str]:
    return {
        "dovetail.format": "dovetail.segment",
        "dovetail.version": "1",
        "dovetail.rows_per_bucket": "[3,3,2,2]",
        **{f"dovetail.{key}": value for key, value in changes.items()},
    }


@pytest.mark.parametrize(
    ("marks", "change", "kind", "message"),
    [
        (metadata(), lambda b: b, None, ""),
        (metadata(version="3"), lambda b: b, UnknownVersion, "version 3"),
        (metadata(version="2"), lambda b: b, CorruptFile, "another schema"),
        (metadata(format="other"), lambda b: b, CorruptFile, "not a segment"),
        (None, lambda b: b, CorruptFile, "not a segment"),
        (metadata(), lambda b: b.slice(1), CorruptFile, "other rows"),
        (metadata(rows_per_bucket="[10,0,0,0]"), lambda b: b, CorruptFile, "other rows"),
        (metadata(rows_per_bucket="x"), lambda b: b, CorruptFile, "cannot be read"),
        (metadata(), lambda b: b.rename_columns(["id", "nom"]), CorruptFile, "another schema"),
        (metadata(), lambda b: b.select(["id"]), CorruptFile, "another schema"),
    ],
)
def test_an_arrow_file_that_is_not_the_segment(
    *, category: Category, put: Any, marks: Any, change: Any, kind: Any, message: str
) -> None:
    put(category, 0)

    def write(path: Path, batch: pa.RecordBatch) -> None:
        changed = change(batch)
        with pa.ipc.new_file(str(path), changed.schema.with_metadata(marks)) as writer:
            writer.write_batch(changed)

    info = rewrite(category, write)
    if kind is None:
        assert category.open_segment(info).batch.num_rows == 10
    else:
        with pytest.raises(kind, match=message):
            category.open_segment(info)


def test_a_file_that_is_not_arrow_at_all(category: Category, put: Any) -> None:
    put(category, 0)
    info = rewrite(category, lambda path, _: path.write_bytes(b"ARROW1 but no more"))
    with pytest.raises(CorruptFile, match="not an Arrow file"):
        category.open_segment(info)


def test_a_missing_segment_is_named(category: Category, put: Any) -> None:
    info = put(category, 0).segments[0]
    remove(category, f"segments/{info.name}")
    with pytest.raises(CorruptFile, match="missing") as caught:
        category.open_segment(info)
    assert info.name in str(caught.value)


def test_the_checksum_is_taken_once_per_process(category: Category, put: Any) -> None:
    """Reading again is free: a change behind the process's back is seen by the next process."""
    info = put(category, 0).segments[0]
    category.open_segment(info)
    assert np.array_equal(category.open_segment(info).starts, [0, 3, 6, 8, 10])
    path = f"segments/{info.name}"
    data = bytearray(content(category, path))
    data[-1] ^= 1
    change(category, path, bytes(data))
    history.forget()
    with pytest.raises(DovetailError):
        category.open_segment(info)


@pytest.fixture
def packed(homes: Callable[[str], str]) -> Category:
    category = Category.create(homes("packed"), NAME, WIDE, buckets=4)
    put_wide(category, wide_rows(1200))
    return category


@pytest.mark.parametrize("pattern", ["segments/*.arrow", "dictionaries/*.json"])
def test_a_damaged_compressed_category_is_noticed(packed: Category, pattern: str, samples: int) -> None:
    (path,) = matching(packed, pattern)
    assert_noticed(packed, path, samples)
    remove(packed, path)
    history.forget()
    with pytest.raises(CorruptFile, match="missing") as caught:
        everything(packed.home)
    assert path.rpartition("/")[2] in str(caught.value)


def test_another_dictionary_under_the_name_is_refused(packed: Category) -> None:
    (path,) = matching(packed, "dictionaries/*.json")
    found = json.loads(content(packed, path))
    for body in ({**found["body"], "content": ""}, {}, {**found["body"], "content": 3}):
        change(packed, path, document.encode(found["format"], 1, body))
        history.forget()
        with pytest.raises(CorruptFile, match="not this one"):
            everything(packed.home)
    change(packed, path, document.encode(found["format"], 2, found["body"]))
    history.forget()
    with pytest.raises(UnknownVersion, match="version 2"):
        everything(packed.home)


def runs(ends: list[int], frames: list[bytes | None]) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), pa.array(frames, pa.large_binary()))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (lambda old: runs([1200], [b"no frame"]), "cannot be unpacked"),
        (lambda old: runs([1200], [b""]), "cannot be unpacked"),
        (lambda old: runs([1200], [None]), "do not add up"),
        (lambda old: runs([1200], [zstandard.compress(b"no record batch")]), "cannot be unpacked"),
        (lambda old: runs([1200], [old.values[0].as_py()]), "holds"),
        (lambda old: runs([1, *old.run_ends.to_pylist()[1:]], old.values.to_pylist()), "holds"),
    ],
)
def test_blocks_that_are_not_the_payload(packed: Category, column: Any, message: str) -> None:
    def write(path: Path, batch: pa.RecordBatch) -> None:
        (found,) = [other for other in path.parent.glob("*.arrow") if not other.name.startswith("other-")]
        with pa.memory_map(str(found)) as file:
            reader = pa.ipc.open_file(file)
            batch, schema = reader.get_batch(0), reader.schema
            columns = [*batch.columns[:-1], column(batch.column(-1))]
            with pa.ipc.new_file(str(path), schema) as writer:
                writer.write_batch(pa.record_batch(columns, schema=schema))

    info = rewrite(packed, write)
    with pytest.raises(CorruptFile, match=message) as caught:
        assert packed.open_segment(info).batch
    assert info.name in (caught.value.where or "")


def test_a_segment_compressed_otherwise_than_its_commit_says(packed: Category) -> None:
    info = packed.commit(0).segments[0]
    assert info.packing is not None
    for wrong in (None, replace(info.packing, dictionary="0" * 16), replace(info.packing, dictionary=None)):
        with pytest.raises(CorruptFile, match="not compressed as its commit says"):
            packed.open_segment(replace(info, packing=wrong))


def test_the_file_of_another_reader_is_refused(filled: Category) -> None:
    """Taken for its own, it would let retention delete what the reader needs."""
    filled.set_reader("slow", 1)
    filled.set_reader("quick", 2)
    change(filled, "readers/slow.json", content(filled, "readers/quick.json"))
    with pytest.raises(CorruptFile, match="reader quick") as caught:
        filled.readers()
    assert "slow.json" in (caught.value.where or "")
    with pytest.raises(CorruptFile):
        filled.retain()


def test_commits_that_do_not_join_up_are_refused(filled: Category) -> None:
    """A row number would lead into the wrong segment, or beside it."""
    path = f"commits/{2:020d}.json"
    rewritten(filled, path, lambda body: body.update(first_row=body["first_row"] + 1))
    with pytest.raises(CorruptFile, match="begin with") as caught:
        filled.commits(1, 3)
    assert path in (caught.value.where or "")


def test_a_name_that_leads_elsewhere_is_refused(filled: Category) -> None:
    elsewhere = {"name": "../../../x.arrow"}
    rewritten(filled, f"commits/{1:020d}.json", lambda body: body["segments"][0].update(elsewhere))
    with pytest.raises(CorruptFile):
        filled.commit(1)
