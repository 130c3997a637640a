"""Retention follows the slowest reader, and says so when a reader comes too late."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.errors import CorruptFile, LogTruncated
from dovetail.log import history, retention
from dovetail.log.category import Category
from home_files import change, names


@pytest.fixture
def filled(category: Category, put: Any) -> Category:
    for number in range(6):
        put(category, number * 10, producer="app", batch=number)
    return category


def test_without_readers_nothing_goes(filled: Category) -> None:
    assert filled.retain() == 0
    assert filled.first_commit() == 0


def test_the_lowest_floor_counts(filled: Category, ids: Any) -> None:
    filled.set_reader("fast", 5)
    filled.set_reader("slow/and odd ü", 2)
    assert filled.readers() == {"fast": 5, "slow/and odd ü": 2}
    assert filled.retain() == 2
    assert filled.retain() == 0
    assert filled.first_commit() == 2
    assert sorted(ids(filled)) == [*range(20, 60)]
    assert len(names(filled, "segments")) == 4
    filled.drop_reader("slow/and odd ü")
    filled.drop_reader("never seen")
    assert filled.retain() == 3
    assert filled.first_commit() == 5


def test_the_newest_commit_stays_and_numbers_go_on(
    filled: Category, put: Any, forget: Callable[[], None]
) -> None:
    filled.set_reader("eager", 6)
    assert filled.retain() == 5
    forget()
    assert filled.next_commit() == 6
    assert put(filled, 0, producer="app", batch=5).number == 5
    new = put(filled, 60, producer="app", batch=6)
    assert (new.number, new.first_row) == (6, 60)


def test_what_is_gone_is_an_error_that_says_so(filled: Category, forget: Callable[[], None]) -> None:
    old = filled.commit(1)
    filled.set_reader("reader", 3)
    filled.retain()
    for ask in (
        lambda: filled.commit(1),
        lambda: filled.commits(0, 5),
        lambda: filled.open_segment(old.segments[0]),
        lambda: filled.set_reader("late", 2),
    ):
        with pytest.raises(LogTruncated, match="removed by retention") as caught:
            ask()
        assert "from 3 on" in (caught.value.expected or "")
        forget()


def test_a_reader_that_comes_in_between_is_kept_for(
    filled: Category, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention has recorded the new first commit when the reader registers, but deleted nothing yet."""
    filled.set_reader("first", 4)
    record = history.record_bounds
    errors = []

    def record_then_register(category: Category, new: history.LogBounds) -> None:
        record(category, new)
        if new.first == 4:
            try:
                filled.set_reader("second", 1)
            except LogTruncated as error:  # it must not seem to have worked
                errors.append(error)

    monkeypatch.setattr(history, "record_bounds", record_then_register)
    assert filled.retain() == 1
    assert len(errors) == 1
    assert filled.first_commit() == 1
    assert sorted(ids(filled)) == [*range(10, 60)]
    filled.set_reader("second", 1)


@pytest.mark.parametrize("damage", [b"", b"{}", b"garbage"])
def test_a_damaged_record_is_made_anew_by_retention(filled: Category, damage: bytes, ids: Any) -> None:
    filled.set_reader("reader", 2)
    filled.retain()
    change(filled, "first.json", damage)
    with pytest.raises(CorruptFile, match="corrupt") as caught:
        filled.commits(2, 6)
    assert "dovetail log trim clicks" in (caught.value.hint or "")
    assert filled.retain() == 0
    assert filled.first_commit() == 2
    assert sorted(ids(filled)) == [*range(20, 60)]


def test_a_damaged_floor_stops_retention(filled: Category) -> None:
    filled.set_reader("reader", 2)
    change(filled, "readers/reader.json", b"{}")
    with pytest.raises(CorruptFile, match="corrupt"):
        filled.retain()
    assert filled.first_commit() == 0


def test_a_commit_that_is_damaged_goes_with_the_rest(filled: Category, ids: Any) -> None:
    change(filled, f"commits/{0:020d}.json", b"garbage")
    filled.set_reader("reader", 2)
    assert filled.retain() == 2
    assert len(names(filled, "segments")) == 5
    assert filled.remove_orphans(grace_s=-1) == 1
    assert sorted(ids(filled)) == [*range(20, 60)]


def test_orphans_go_after_a_while(
    filled: Category, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (orphan,) = put.write(filled, 100)
    kept_aside = filled.write_rejected(["x"], "bad")
    change(filled, "commits/.tmp-123", b"half a comm")
    assert filled.remove_orphans() == 0
    later_s = time.time() + retention.GRACE_S + 10
    monkeypatch.setattr(retention.time, "time", lambda: later_s)
    assert filled.remove_orphans() == 3
    assert names(filled, "commits") == [f"{number:020d}.json" for number in range(6)]
    assert orphan.name not in names(filled, "segments")
    assert kept_aside.file not in names(filled, "rejected")
    assert sorted(ids(filled)) == [*range(60)]
