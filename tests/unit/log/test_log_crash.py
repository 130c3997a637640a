"""A crash between any two file operations loses nothing that was committed, and doubles nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dovetail.log import history
from dovetail.log.category import Category, list_categories
from dying import crash_everywhere
from home_files import names

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])

Homes = Callable[[str], str]


def enough(homes: Homes, points: int, *, on_disk: int, elsewhere: int) -> bool:
    """A store has fewer places to die at: it writes a file in one request, and syncs nothing."""
    return points > (elsewhere if "://" in homes("any") else on_disk)


def clicks(home: str, buckets: int = 4) -> Category:
    return Category.create(home, "clicks", SCHEMA, buckets=buckets)


def test_append(homes: Homes, put: Any, ids: Any) -> None:
    def prepare(home: str) -> Category:
        category = clicks(home)
        put(category, 0, producer="app", batch=0)
        return category

    def check(home: str) -> None:
        found = Category.open(home, "clicks")
        assert sorted(ids(found)) in ([*range(10)], [*range(20)])
        again = put(found, 10, producer="app", batch=1)
        assert again.number == 1
        assert sorted(ids(found)) == [*range(20)]
        assert put(found, 20, producer="app", batch=2).number == 2
        history.forget()
        assert sorted(ids(found)) == [*range(30)]

    points = crash_everywhere(homes, prepare, lambda to: put(to, 10, producer="app", batch=1), check)
    # On disk twice: open, sync, link or rename, sync the folder; and a temporary name goes.
    assert enough(homes, points, on_disk=8, elsewhere=3)


def test_append_of_many_segments(homes: Homes, ids: Any) -> None:
    """Their files are synced side by side: whichever of them is the last thing that happens."""

    def put(to: Category) -> None:
        rows = pa.RecordBatch.from_pydict({"id": [*range(12)], "name": ["x"] * 12}, schema=SCHEMA)
        one = lambda batch: batch.column("id").to_numpy() * 0  # noqa: E731
        to.append(to.write_segments([rows], one, one, max_rows=2), producer="app", batch=0)

    def check(home: str) -> None:
        found = Category.open(home, "clicks")
        assert ids(found) in ([], [*range(12)])
        put(found)
        assert ids(found) == [*range(12)]

    points = crash_everywhere(homes, lambda home: clicks(home, 1), put, check)
    assert enough(homes, points, on_disk=6 * 3, elsewhere=6 * 2)


def test_retain(homes: Homes, put: Any, ids: Any) -> None:
    def prepare(home: str) -> Category:
        category = clicks(home)
        put(category, 0)
        category.append(put.write(category, 10), rejected=[category.write_rejected(["x"], "bad")])
        put(category, 20)
        category.set_reader("reader", 2)
        return category

    def check(home: str) -> None:
        found = Category.open(home, "clicks")
        assert found.first_commit() in (0, 2)
        assert sorted(ids(found)) == [*range(found.first_commit() * 10, 30)]
        assert put(found, 30).number == 3
        found.retain()
        assert sorted(ids(found)) == [*range(20, 40)]
        found.remove_orphans(grace_s=-1)
        named = {segment.name for commit in found.commits(2, 4) for segment in commit.segments}
        assert set(names(found, "segments")) == named
        assert names(found, "rejected") == []
        assert names(found, "commits") == [f"{n:020d}.json" for n in (2, 3)]

    assert crash_everywhere(homes, prepare, Category.retain, check) > 8


def test_create(homes: Homes, put: Any, ids: Any) -> None:
    def check(home: str) -> None:
        assert list_categories(home) in ([], ["clicks"])
        category = clicks(home)
        put(category, 0)
        assert sorted(ids(category)) == [*range(10)]

    points = crash_everywhere(homes, lambda home: home, clicks, check)
    assert enough(homes, points, on_disk=10, elsewhere=1)
