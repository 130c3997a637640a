"""Compaction changes where rows are and nothing else, at every moment, for readers in the middle too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dovetail.errors import CorruptFile, LogTruncated
from dovetail.log import appending, bundle, compaction, history, retention
from dovetail.log.cache import SEGMENTS
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.log.compaction import FileShape
from dovetail.log.history import LogBounds
from home_files import change, content, remove
from unit.log.test_log_crash import Homes, clicks, crash_everywhere

SMALL = FileShape(span=4, fan=3, recent=2, bundles_at_once=2, small_pack_bytes=1 << 20)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SHAPE", SMALL)


def files(category: Category) -> dict[str, list[str]]:
    parts = ("commits", "bundles", "packs", "segments", "rejected")
    return {
        part: sorted(entry.name for entry in category.store.files(f"{category.folder}/{part}"))
        for part in parts
    }


def fill(category: Category, put: Any, commits: int, start: int = 0) -> None:
    for number in range(start, start + commits):
        aside = [category.write_rejected([f"bad {number}"], "no number")] if number % 3 == 0 else []
        category.append(
            put.write(category, number * 10), producer=f"app {number % 2}", batch=number, rejected=aside
        )


def everything(category: Category) -> Any:
    commits = category.commits(category.first_commit(), category.next_commit())
    rows = [category.open_segment(info).batch.to_pylist() for one in commits for info in one.segments]
    return commits, rows, [category.read_rejected(info) for one in commits for info in one.rejected]


def test_a_bundled_log_says_the_same(
    category: Category, put: Any, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as off:
        off.setattr(retention, "tend", lambda category, number: None)
        fill(category, put, 40)
    before = everything(category)
    for _ in range(20):
        category.retain()
    forget()
    found = files(category)
    assert found["commits"] == [f"{number:020d}.json" for number in (36, 37, 38, 39)]
    assert found["bundles"] == [bundle.CommitSpan(*span).name for span in ((0, 12), (12, 24), (24, 36))]
    assert (len(found["packs"]), len(found["segments"]), len(found["rejected"])) == (3, 4, 2)
    assert everything(category) == before
    assert history.bounds(category) == LogBounds(0, 36)
    assert [category.commit(number) for number in range(40)] == before[0]
    assert category.next_commit() == 40
    again = category.append(put.write(category, 70), producer="app 1", batch=7)
    assert again == before[0][7]


def test_appends_keep_the_files_few(
    category: Category, put: Any, ids: Any, forget: Callable[[], None]
) -> None:
    most = 0
    for number in range(120):
        put(category, number * 10, producer="app", batch=number)
        most = max(most, sum(map(len, files(category).values())))
    assert most < 10 + 120 // 12 * 2 + 2 * 12
    forget()
    assert sorted(ids(category)) == [*range(1200)]


def test_a_reader_in_the_middle_goes_on(category: Category, put: Any, forget: Callable[[], None]) -> None:
    """Its commits were read when each was a file of its own, and its rows are wanted after two moves."""

    def read() -> list[Commit]:
        forget()
        return category.commits(0, 9)

    fill(category, put, 9)
    early = read()
    fill(category, put, 3, 9)
    middle = read()
    fill(category, put, 18, 12)
    places = [[one.segments[0].place for one in commits[4:8]] for commits in (early, middle, read())]
    assert all(len(set(moves)) == 3 for moves in zip(*places, strict=True))
    for commits in (early, middle):
        SEGMENTS.clear()
        for commit in commits:
            rows = [
                row["id"] for info in commit.segments for row in category.open_segment(info).batch.to_pylist()
            ]
            assert sorted(rows) == [*range(commit.number * 10, commit.number * 10 + 10)]
            assert [len(category.read_rejected(info)) for info in commit.rejected] == [1] * len(
                commit.rejected
            )


def test_large_segments_stay_files_and_go_with_their_commits(
    category: Category, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SHAPE", replace(SMALL, small_bytes=0))
    fill(category, put, 20)
    found = files(category)
    assert (len(found["segments"]), found["packs"]) == (20, [])
    assert len(found["bundles"]) > 0
    category.set_reader("reader", 6)  # in the middle of a bundle
    assert category.retain() == 6
    assert len(files(category)["segments"]) == 14
    assert sorted(ids(category)) == [*range(60, 200)]
    assert category.remove_orphans(grace_s=-1) == 0
    category.set_reader("reader", 20)
    category.retain()
    assert {part: len(names) for part, names in files(category).items() if part != "commits"} == {
        "bundles": 0,
        "packs": 0,
        "segments": 1,
        "rejected": 0,
    }


def test_retention_in_the_middle_of_a_bundle(category: Category, put: Any, ids: Any) -> None:
    fill(category, put, 30)
    category.set_reader("reader", 14)
    assert category.retain() == 14
    assert files(category)["bundles"][0] == bundle.CommitSpan(12, 24).name
    assert sorted(ids(category)) == [*range(140, 300)]
    with pytest.raises(LogTruncated):
        category.commit(13)
    fill(category, put, 30, 30)
    assert sorted(ids(category)) == [*range(140, 600)]
    assert category.remove_orphans(grace_s=-1) == 0
    assert sorted(ids(category)) == [*range(140, 600)]


def test_a_writer_that_slept_through_it_gives_its_number_back(
    category: Category, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked for the next number, and writes the commit when that number is bundled and its file gone."""
    fill(category, put, 6)
    slow = put.write(category, 5000)
    look, asleep = history.next_commit, [True]

    def looked(of: Category, known: int = 0) -> int:
        number = look(of, known)
        if asleep.pop() if asleep else False:
            fill(category, put, 20, 6)
        return number

    monkeypatch.setattr(appending.history, "next_commit", looked)
    commit = category.append(slow, producer="slow", batch=0)
    assert commit is not None
    assert commit.number == 26
    assert sorted(ids(category)) == [*range(260), *range(5000, 5010)]


def test_a_file_that_such_a_writer_left_deceives_nobody(
    category: Category, put: Any, ids: Any, forget: Callable[[], None]
) -> None:
    other = Category.create(category.home, "other", category.schema, buckets=4)
    fill(category, put, 12)
    put(other, 77)
    forged = content(other, f"commits/{0:020d}.json").replace(other.id.encode(), category.id.encode())
    category.store.replace(history.commit_path(category, 3), forged)
    forget()
    assert sorted(ids(category)) == [*range(120)]


@pytest.mark.parametrize("damage", [b"", b"{}", b"garbage"])
def test_a_damaged_record_is_found_again_by_looking(
    category: Category, put: Any, ids: Any, damage: bytes, forget: Callable[[], None]
) -> None:
    fill(category, put, 30)
    category.set_reader("reader", 14)
    category.retain()
    change(category, "first.json", damage)
    forget()
    with pytest.raises(CorruptFile):
        category.commits(14, 15)
    assert category.retain() == 2  # the bundle begins with commit 12, and is whole
    assert history.bounds(category) == LogBounds(14, 28)
    assert sorted(ids(category)) == [*range(140, 300)]


def test_a_damaged_bundle_is_an_error(category: Category, put: Any, forget: Callable[[], None]) -> None:
    fill(category, put, 30)
    path = f"bundles/{bundle.CommitSpan(0, 12).name}"
    good = content(category, path)
    for bad in (good[:-1], good[:100], b"", good.replace(b'"first":0', b'"first":1'), good + b"x"):
        change(category, path, bad)
        forget()
        with pytest.raises(CorruptFile, match=r"corrupt|bundle"):
            category.commit(5)
    line = good.rindex(b"written_at_us")
    other = b"8" if good[line + 20 : line + 21] == b"9" else b"9"  # another digit of the time than it has
    change(category, path, good[: line + 20] + other + good[line + 21 :])
    forget()
    category.commit(10)
    with pytest.raises(CorruptFile):
        category.commit(11)
    fill(category, put, 20, 30)  # whoever appends is not troubled by it
    remove(category, path)
    forget()
    with pytest.raises(CorruptFile, match="commit is missing"):
        category.commit(5)


@pytest.mark.parametrize("commits", [6, 14])
def test_a_crash_anywhere(homes: Homes, put: Any, ids: Any, commits: int) -> None:
    """At 6 commits the first bundle is due, at 14 the third and the wide one."""

    def prepare(home: str) -> Category:
        category = clicks(home)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compaction, "SHAPE", replace(SMALL, recent=2 if commits > 6 else 99))
            fill(category, put, commits)
        return category

    def check(home: str) -> None:
        found = Category.open(home, "clicks")
        assert sorted(ids(found)) == [*range(commits * 10)]
        fill(found, put, 2, commits)
        found.retain()
        history.forget()
        assert sorted(ids(found)) == [*range(commits * 10 + 20)]
        found.remove_orphans(grace_s=-1)
        named = {one.path for commit in found.commits(0, commits + 2) for one in commit.files}
        there = files(found)
        parts = ("segments", "packs", "rejected")
        assert {f"{part}/{name}" for part in parts for name in there[part]} == named
        assert [int(name[:20]) for name in there["commits"]] == [*range(commits // 4 * 4, commits + 2)]

    assert crash_everywhere(homes, prepare, Category.retain, check) > 20
