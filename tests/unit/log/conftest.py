"""Fixtures of the log's tests: small categories, and a process that forgets all it has read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.log import history
from dovetail.log.category import Category

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture
def forget() -> Callable[[], None]:
    """As if the process had been started again: nothing is known, everything is read from disk."""
    return history.forget


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing known of earlier tests; and no waiting for the disk, whose loss of power no test can see."""
    history.forget()
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def homes(tmp_path: Path) -> Callable[[str], str]:
    """Homes by their names. Who runs the same tests on another kind of home has this fixture of its own."""
    return lambda name: str(tmp_path / name)


@pytest.fixture
def category(homes: Callable[[str], str]) -> Category:
    return Category.create(homes("home"), "clicks", SCHEMA, buckets=4)


@pytest.fixture
def put() -> Callable[..., Any]:
    """Append rows `first..first+count-1` to a category of SCHEMA; their event time is their id."""

    def append(category: Category, first: int, count: int = 10, **kwargs: Any) -> Any:
        return category.append(write(category, first, count), **kwargs)

    def write(category: Category, first: int, count: int = 10) -> Any:
        ids = np.arange(first, first + count)
        batch = pa.RecordBatch.from_pydict(
            {"id": ids, "name": [f"name {i}" for i in ids]}, schema=category.schema
        )
        return category.write_segments(
            [batch],
            lambda rows: rows.column("id").to_numpy() % category.buckets,
            lambda rows: rows.column("id").to_numpy(),
        )

    append.write = write  # type: ignore[attr-defined]
    return append


@pytest.fixture
def ids() -> Callable[[Category], list[int]]:
    """The ids of all rows of a category, in log order; checks the numbering of rows on the way."""

    def read(category: Category) -> list[int]:
        found: list[int] = []
        start = category.first_commit()
        commits = category.commits(start, category.next_commit())
        next_row = commits[0].first_row if commits else 0
        for number, commit in enumerate(commits, start):
            assert commit.number == number
            assert commit.first_row == next_row
            for info in commit.segments:
                segment = category.open_segment(info)
                assert segment.first_row == next_row
                found += segment.batch.column("id").to_pylist()
                next_row += info.rows
            assert commit.next_row == next_row
        return found

    return read
