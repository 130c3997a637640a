"""Reports of writers beside a category: written, replaced, read back, and not those of another category."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.errors import CorruptFile
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.log.source_progress import SourceReport, Waiting, drop_report, read_reports, write_report

SCHEMA = pa.schema([("id", pa.int64())])
REPORT = SourceReport("app.view/left %", "app", "behind", 1, 20, 10, 3, 1 << 40, None, -5)


@pytest.fixture(params=["memory", "path"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"mock:///{uuid.uuid4().hex}" if request.param == "memory" else str(tmp_path)


def test_what_was_written_last_is_read(home: str) -> None:
    category = Category.create(home, "side", SCHEMA)
    assert read_reports(category) == []
    write_report(category, REPORT)
    again = replace(REPORT, state="empty", looks=2, files=0, bytes=0, rows=0, newest_us=None)
    other = replace(REPORT, producer="another")
    write_report(category, again)
    write_report(category, other)
    assert read_reports(category) == [other, again]
    drop_report(category, "another")
    drop_report(category, "nobody")
    assert read_reports(category) == [again]


def test_the_next_report_keeps_what_nobody_has_looked_at_since() -> None:
    same = REPORT.then("behind", 30, None, None)
    assert same == replace(REPORT, looks=2, looked_at_us=30)
    empty = same.then("empty", 40, Waiting(rows=0), 2)
    assert empty == SourceReport(REPORT.producer, "app", "empty", 3, 40, 40, rows=0, looked_after=2)


def test_a_report_of_an_older_category_counts_no_more(tmp_path: Path) -> None:
    old = Category.create(str(tmp_path), "side", SCHEMA)
    write_report(old, REPORT)
    (Path(old.where) / "category.json").unlink()
    new = Category.create(str(tmp_path), "side", SCHEMA)
    assert read_reports(new) == []


def test_a_report_is_not_synced_and_what_a_dead_writer_left_is_removed(
    category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(category, REPORT)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    write_report(category, REPORT)
    assert synced == [], "it is replaced every second"
    left = Path(category.where) / "progress" / ".tmp-1"
    left.write_bytes(b"half")
    assert read_reports(category) == [REPORT]
    assert category.remove_orphans(grace_s=-1) == 1
    assert not left.exists()


def test_a_torn_report_is_an_error_that_names_it(category: Category) -> None:
    write_report(category, REPORT)
    (path,) = (Path(category.where) / "progress").iterdir()
    store = open_store(category.home)
    store.replace(str(path.relative_to(store.root)), path.read_bytes()[:50])
    with pytest.raises(CorruptFile) as error:
        read_reports(category)
    assert error.value.where == str(path)
