"""Law: a process that stays keeps little of what it has read, and sees when a category is another one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.errors import CategoryNotFound
from dovetail.log.cache import COMMITS
from dovetail.log.category import Category


def test_a_category_made_again_under_its_name_is_another_one(category: Category) -> None:
    assert Category.open(category.home, "clicks") == category
    shutil.rmtree(category.where)
    with pytest.raises(CategoryNotFound):
        Category.open(category.home, "clicks")
    again = Category.create(category.home, "clicks", category.schema.append(pa.field("more", pa.int64())))
    assert Category.open(category.home, "clicks") == again != category


def test_parsed_commits_are_forgotten_by_their_size(
    category: Category, monkeypatch: pytest.MonkeyPatch, forget: Callable[[], None], ids: Any
) -> None:
    monkeypatch.setattr(COMMITS, "max_bytes", 200_000)
    times = np.arange(300)
    batch = pa.RecordBatch.from_pydict({"id": times, "name": ["x"] * 300}, schema=category.schema)
    for _ in range(40):
        infos = category.write_segments([batch], lambda rows: times % 4, lambda rows: times)
        category.append(infos)
    assert COMMITS.bytes <= 200_000
    assert sorted(ids(category)) == sorted(times.tolist() * 40)
    assert COMMITS.bytes <= 200_000
    assert len(COMMITS.keys) < 40
