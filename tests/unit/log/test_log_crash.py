"""A crash between any two file operations loses nothing that was committed, and doubles nothing.

The operations of the operating system are counted; at the k-th one the process "dies": this one and all later
ones fail, also those that would clean up. Then a new process looks at what is on disk.
"""

from __future__ import annotations

import builtins
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.log import history
from dovetail.log.category import Category, list_categories

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
OPERATIONS = ("link", "rename", "fsync", "unlink", "mkdir")


class Crash(BaseException):
    """No `except` clause of the product is meant to catch this."""


@contextmanager
def dying_at(step: int, *, done: bool) -> Iterator[list[str]]:
    """Die at operation number `step`, just before it takes effect or just after (`done`)."""
    log: list[str] = []

    def wrap(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            log.append(name)
            if len(log) > step + 1 or (len(log) == step + 1 and not done):
                raise Crash(name)
            result = operation(*args, **kwargs)
            if len(log) == step + 1:
                if name == "open":
                    result.close()
                raise Crash(name)
            return result

        return wrapped

    def wrap_open(*args: Any, **kwargs: Any) -> Any:
        mode = args[1] if len(args) > 1 else "r"
        return counted_open(*args, **kwargs) if mode == "xb" else real_open(*args, **kwargs)

    real_open = builtins.open
    counted_open = wrap("open", real_open)
    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, wrap(name, getattr(os, name)))
        patch.setattr(builtins, "open", wrap_open)
        yield log


def crash_everywhere(
    folder: Path, prepare: Callable[[str], Any], action: Callable[[Any], Any], check: Callable[[str], None]
) -> int:
    """Run `action` once for each operation it makes, dying there; returns how many points there were. Each
    time `prepare` gets a new home and gives what `action` works on. A new process checks what it left."""
    for run in itertools.count():
        step, done = run // 2, bool(run % 2)
        home = str(folder / f"{step}-{done}")
        made = prepare(home)
        history.forget()
        survived = False
        with dying_at(step, done=done) as log, suppress(Crash):
            action(made)
            survived = True
        if survived:
            assert len(log) <= step
            return step
        history.forget()
        check(home)
    raise AssertionError("unreachable")


def clicks(home: str, buckets: int = 4) -> Category:
    return Category.create(home, "clicks", SCHEMA, buckets=buckets)


def test_append(tmp_path: Path, put: Any, ids: Any) -> None:
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

    points = crash_everywhere(tmp_path, prepare, lambda to: put(to, 10, producer="app", batch=1), check)
    assert points > 8  # twice: open, sync, link or rename, sync the folder; and a temporary name goes


def test_append_of_many_segments(tmp_path: Path, ids: Any) -> None:
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

    assert crash_everywhere(tmp_path, lambda home: clicks(home, 1), put, check) > 6 * 3


def test_retain(tmp_path: Path, put: Any, ids: Any) -> None:
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
        assert set(os.listdir(f"{found.where}/segments")) == named
        assert os.listdir(f"{found.where}/rejected") == []
        assert sorted(os.listdir(f"{found.where}/commits")) == [f"{n:020d}.json" for n in (2, 3)]

    assert crash_everywhere(tmp_path, prepare, Category.retain, check) > 8


def test_create(tmp_path: Path, put: Any, ids: Any) -> None:
    def check(home: str) -> None:
        assert list_categories(home) in ([], ["clicks"])
        category = clicks(home)
        put(category, 0)
        assert sorted(ids(category)) == [*range(10)]

    assert crash_everywhere(tmp_path, lambda home: home, clicks, check) > 10
