"""A resident slicer: each file, and each commit of its source, enters the log once, also through crashes."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.errors import CorruptFile, InputError, StateError
from dovetail.log import history
from dovetail.log.category import Category
from dovetail.log.source_progress import read_reports
from dovetail.model.promise import Promise
from dovetail.model.validity import Validity
from dovetail.slicing.category_intake import CategoryIntake
from dovetail.slicing.covered_files import SAVE_EVERY, Slicer
from dovetail.slicing.direct import DirectSlice, direct_slice
from dovetail.slicing.folder_intake import KEEP_EVERY_S, FolderIntake
from dovetail.slicing.intake import Intake
from dovetail.slicing.parquet_form import ParquetForm
from dovetail.slicing.resident import ResidentSlicer
from dovetail.slicing.sides import append_parts
from dovetail.slicing.write_rows import bucket_of, time_of
from dying import crash_everywhere

STORED = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("note", pa.string())])
SIDE = pa.schema(
    [("_hash", pa.int64()), ("_time", pa.int64()), ("_key_0", pa.int64()), ("note", pa.string())]
)
COLUMNS = {"_key_0": "id", "_time": "at", "note": "note"}


def rows(first: int, count: int = 3) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table([ids, [i * 1_000_000 for i in ids], [f"note {i}" for i in ids]], schema=STORED)


def slice_of(category: Category) -> DirectSlice:
    found = direct_slice(STORED, category, COLUMNS, ("_key_0",), "_time", Validity())
    assert found is not None
    return found


class Folder:
    """A home with a folder of files to be sliced, and what became of them."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, str(root / "home")
        (root / "in").mkdir(parents=True, exist_ok=True)
        self.category = Category.create(self.home, "app.left", SIDE, buckets=4, role="side")
        self.slicer = Slicer("app", "left", str(root / "in"))

    def put(self, name: str, table: pa.Table) -> None:
        pq.write_table(table, self.root / "in" / name)

    def intake(self, before: Callable[[], list[str]] = list, max_files: int = 200) -> Intake:
        return FolderIntake(
            self.category,
            self.slicer,
            lambda covered: ParquetForm(slice_of(self.category), ("id", "at", "note")),
            "app.vanished.left",
            before=before,
            max_files=max_files,
        )

    def slice(self, **how: Any) -> ResidentSlicer:
        slicer = ResidentSlicer(self.category, self.slicer, lambda: self.intake(**how), finite=True)
        slicer.run()
        return slicer

    def ids(self) -> list[int]:
        return sorted(self._column("_key_0"))

    def notes(self) -> list[str | None]:
        return sorted(self._column("note"), key=lambda note: (note is None, note))

    def aside(self) -> list[int]:
        """The ids of rows whose time is not believed."""
        return sorted(values(Category.open(self.home, "app.left.invalid"), "_key_0"))

    def _column(self, name: str) -> list[Any]:
        return values(self.category, name)


def values(category: Category, name: str) -> list[Any]:
    commits = category.commits(category.first_commit(), category.next_commit())
    segments = [category.open_segment(info) for commit in commits for info in commit.segments]
    return [value for segment in segments for value in segment.batch.column(name).to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    history.forget()
    return Folder(tmp_path)


def test_what_is_there_enters_once(folder: Folder) -> None:
    folder.put("a.parquet", rows(0))
    folder.put("b.parquet", rows(3))
    folder.slice()
    folder.slice()
    assert folder.ids() == [*range(6)]
    folder.put("c.parquet", rows(6))
    folder.slice()
    assert folder.ids() == [*range(9)]
    covered = [commit.covers for commit in folder.category.commits(0, folder.category.next_commit())]
    assert covered == [{"files": ["a.parquet", "b.parquet"]}, {"files": ["c.parquet"]}]


def test_a_file_may_lack_a_column_or_have_a_narrower_type(folder: Folder) -> None:
    folder.put("a.parquet", rows(0).drop_columns(["note"]))
    folder.put("b.parquet", rows(3).set_column(0, "id", rows(3)["id"].cast(pa.int16())))
    folder.put("c.parquet", rows(6))
    folder.slice()
    assert folder.ids() == [*range(9)]
    assert folder.notes() == [*(f"note {i}" for i in range(3, 9)), None, None, None]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (rows(3).set_column(0, "id", rows(3)["id"].cast(pa.string())), "another type for column id: string"),
        (pa.table({"other": [1]}), "lacks columns id, at, note"),
    ],
)
def test_a_file_of_other_columns_is_refused(folder: Folder, wrong: pa.Table, says: str) -> None:
    folder.put("a.parquet", rows(0))
    folder.slice()
    folder.put("b.parquet", wrong)
    error = folder.slice().error
    assert isinstance(error, InputError)
    assert says in error.what
    assert str(error.where).endswith("b.parquet")
    assert folder.ids() == [0, 1, 2]


def test_files_without_rows_are_read_once_too(folder: Folder) -> None:
    folder.put("empty.parquet", rows(0, 0))
    folder.slice()
    folder.slice()
    assert folder.category.next_commit() == 1


def test_a_batch_has_at_most_so_many_files(folder: Folder) -> None:
    for number in range(5):
        folder.put(f"{number}.parquet", rows(number, 1))
    folder.slice(max_files=2)
    assert [commit.rows for commit in folder.category.commits(0, 3)] == [2, 2, 1]


def test_a_large_file_is_shared_out_to_threads(folder: Folder) -> None:
    pq.write_table(rows(0, 120_000), folder.root / "in" / "large.parquet", row_group_size=20_000)
    folder.slice()
    assert folder.ids() == [*range(120_000)]
    assert folder.category.next_commit() == 1


def test_files_that_a_query_of_spark_has_read_are_not_read_again(folder: Folder) -> None:
    folder.put("old.parquet", rows(0))
    folder.put("new.parquet", rows(3))
    folder.slice(before=lambda: [str(folder.root / "in" / "old.parquet")])
    assert folder.ids() == [3, 4, 5]
    folder.slice()  # it is asked for only once
    assert folder.ids() == [3, 4, 5]


def test_old_commits_may_go_once_the_checkpoint_has_their_files(folder: Folder) -> None:
    for number in range(SAVE_EVERY + 2):
        folder.put(f"{number:03}.parquet", rows(number, 1))
    folder.slice(max_files=1)
    [mark] = folder.category.marks()
    assert (mark.name, mark.needs_commit) == ("app.left.files", SAVE_EVERY + 2)
    folder.category.retain()
    history.forget()
    assert folder.category.first_commit() > 0
    before = folder.category.next_commit()
    folder.slice()
    assert folder.category.next_commit() == before


def test_a_slicer_without_input_brings_its_checkpoint_up_to_date(folder: Folder) -> None:
    now_s = [0.0]
    intake = FolderIntake(
        folder.category,
        folder.slicer,
        lambda covered: ParquetForm(slice_of(folder.category), ("id", "at", "note")),
        "app.vanished.left",
        clock=lambda: now_s[0],
    )
    folder.put("a.parquet", rows(0))
    assert intake.look()
    part = intake.take()
    with ThreadPoolExecutor(1) as threads:
        append_parts(folder.category, part.write(threads), folder.slicer.producer, 0, None, part.covers)
    intake.appended(part)
    intake.rest()
    [mark] = folder.category.marks()
    assert mark.needs_commit == 0, "the checkpoint lacks the commit"
    now_s[0] += 2 * KEEP_EVERY_S
    intake.rest()
    [mark] = folder.category.marks()
    assert mark.needs_commit == 1


def test_commits_that_something_has_removed_are_missed(folder: Folder) -> None:
    folder.put("a.parquet", rows(0))
    folder.slice()
    checkpoint = (folder.root / "home" / folder.slicer.path).read_bytes()
    for number in range(3):
        folder.put(f"b{number}.parquet", rows(3 + number, 1))
        folder.slice()
    folder.category.retain()
    history.forget()
    assert folder.category.first_commit() > 1
    (folder.root / "home" / folder.slicer.path).write_bytes(checkpoint)
    slicer = folder.slice()
    assert isinstance(slicer.error, StateError)
    assert "which name the input files read" in str(slicer.error)
    assert len(folder.ids()) < 6


def test_a_damaged_checkpoint_is_named_and_nothing_is_read_twice(folder: Folder) -> None:
    folder.put("a.parquet", rows(0))
    folder.slice()
    path = folder.root / "home" / folder.slicer.path
    path.write_bytes(path.read_bytes().replace(b"a.parquet", b"b.parquet"))
    slicer = folder.slice()
    assert isinstance(slicer.error, CorruptFile)
    assert str(path) in str(slicer.error)
    assert folder.ids() == [0, 1, 2]


def test_a_file_of_another_type_is_named_and_what_was_committed_stays(folder: Folder) -> None:
    folder.put("a.parquet", rows(0))
    folder.slice()
    table = rows(3).set_column(2, "note", pa.array([1.5, 2.5, 3.5]))
    folder.put("b.parquet", table)
    slicer = folder.slice()
    assert isinstance(slicer.error, InputError)
    assert "b.parquet" in str(slicer.error)
    assert "note" in str(slicer.error)
    assert folder.ids() == [0, 1, 2]


def test_a_file_that_goes_before_it_is_read_is_counted(folder: Folder) -> None:
    folder.put("a.parquet", rows(0))
    folder.put("b.parquet", rows(3))
    intake = folder.intake()
    assert intake.look()
    (folder.root / "in" / "a.parquet").unlink()
    part = intake.take()
    with ThreadPoolExecutor(1) as threads:
        append_parts(folder.category, part.write(threads), folder.slicer.producer, 0, None, part.covers)
    assert folder.ids() == [3, 4, 5]
    gone = Category.open(folder.home, "app.vanished.left")
    [segment] = gone.commit(0).segments
    names = gone.open_segment(segment).batch.column("file").to_pylist()
    assert names == [str(folder.root / "in" / "a.parquet")]


def test_numbers_may_be_narrower_in_the_files(folder: Folder) -> None:
    folder.put("a.parquet", rows(0).set_column(0, "id", pa.array([0, 1, 2], pa.int32())))
    folder.slice()
    assert folder.ids() == [0, 1, 2]


def test_a_crash_anywhere_loses_no_file_and_doubles_none(tmp_path: Path) -> None:
    def prepare(home: str) -> Folder:
        folder = Folder(Path(home))
        folder.put("a.parquet", rows(0))
        folder.slice()
        folder.put("b.parquet", rows(3))
        folder.put("c.parquet", rows(6))
        return folder

    def check(home: str) -> None:
        folder = Folder(Path(home))
        assert folder.ids() in ([*range(3)], [*range(6)], [*range(9)])
        again = folder.slice()
        assert again.error is None
        assert folder.ids() == [*range(9)]

    def action(folder: Folder) -> None:
        slicer = folder.slice(max_files=1)
        if slicer.error is not None:
            raise slicer.error

    assert crash_everywhere(tmp_path, prepare, action, check) > 10


@pytest.mark.parametrize("cuts", [(200, 1), (1, 200)], ids=["larger, then smaller", "smaller, then larger"])
def test_rows_set_aside_are_kept_once_through_a_crash_and_another_cut(
    tmp_path: Path, cuts: tuple[int, int]
) -> None:
    """Who starts again may cut the source into other batches, under the same numbers."""

    def prepare(home: str) -> Folder:
        folder = Folder(Path(home))
        for n, name in enumerate("ab"):
            folder.put(
                f"{name}.parquet",
                rows(3 * n).set_column(1, STORED.field("at"), pa.nulls(3, STORED.field("at").type)),
            )
        return folder

    def check(home: str) -> None:
        folder = Folder(Path(home))
        slicer = folder.slice(max_files=cuts[1])
        assert slicer.error is None
        assert folder.ids() == [*range(6)]
        assert folder.aside() == [*range(6)]

    def action(folder: Folder) -> None:
        slicer = folder.slice(max_files=cuts[0])
        if slicer.error is not None:
            raise slicer.error

    assert crash_everywhere(tmp_path, prepare, action, check) > 10


class Chain(Folder):
    """A category whose commits are sliced into another."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.source = Category.create(self.home, "events", STORED, buckets=1)
        self.slicer = Slicer("app", "left", "events")

    def append(self, table: pa.Table, promise: Promise | None = None) -> None:
        [batch] = table.combine_chunks().to_batches()
        infos = self.source.write_segments([batch], bucket_of(None, 1), time_of(None))
        self.source.append(infos, producer="people", batch=self.source.next_commit(), promise=promise)

    def intake(self, **how: Any) -> Intake:
        return CategoryIntake(self.category, self.slicer, slice_of(self.category), **how)


def test_commits_of_a_category_enter_once(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.append(rows(0))
    chain.append(rows(3))
    chain.slice()
    chain.slice()
    assert chain.ids() == [*range(6)]
    chain.append(rows(6))
    chain.slice()
    assert chain.ids() == [*range(9)]
    covered = [commit.covers for commit in chain.category.commits(0, chain.category.next_commit())]
    assert covered == [{"category": "events", "commit": 2}, {"category": "events", "commit": 3}]
    assert [(mark.name, mark.needs_commit) for mark in chain.source.marks()] == [("app.left", 3)]


def test_a_source_whose_columns_change(tmp_path: Path) -> None:
    """A slicer that runs goes on with the columns it knows; one that starts reads those there are now."""
    chain = Chain(tmp_path)
    chain.append(rows(0))
    intake = chain.intake()
    chain.source = chain.source.evolve(
        pa.schema([("more", pa.bool_()), STORED.field("at"), STORED.field("id")])
    )
    chain.append(rows(3).select(["at", "id"]).add_column(0, "more", pa.array([True] * 3)))
    slicer = ResidentSlicer(chain.category, chain.slicer, lambda: intake, finite=True)
    slicer.run()
    assert slicer.error is None
    chain.source = chain.source.evolve(STORED)
    chain.append(rows(6))
    assert chain.slice().error is None
    assert chain.ids() == [*range(9)]
    assert chain.notes() == [f"note {n}" for n in (0, 1, 2, 6, 7, 8)] + [None] * 3


def test_a_promise_of_the_source_is_passed_on(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.append(rows(0), Promise({"at": 7}, "fixed"))

    def promise_of(commit: int) -> Promise:
        return Promise({"_time": chain.source.commit(commit - 1).promised("at") or 0}, "inherited")

    chain.slice(promise_of=promise_of)
    assert chain.category.commit(0).promised("_time") == 7


def test_commits_that_a_query_of_spark_has_read_are_not_read_again(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    for number in range(3):
        chain.append(rows(3 * number))
    chain.slice(before=lambda: 2)
    assert chain.ids() == [6, 7, 8]


def test_a_crash_anywhere_between_two_categories(tmp_path: Path) -> None:
    def prepare(home: str) -> Chain:
        chain = Chain(Path(home))
        chain.append(rows(0))
        chain.slice()
        chain.append(rows(3))
        return chain

    def check(home: str) -> None:
        chain = Chain(Path(home))
        assert chain.slice().error is None
        assert chain.ids() == [*range(6)]

    def action(chain: Chain) -> None:
        slicer = chain.slice()
        if slicer.error is not None:
            raise slicer.error

    assert crash_everywhere(tmp_path, prepare, action, check) > 8


def test_it_has_reported_before_its_thread_does_anything(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A join that looks then would take its side for one whose writer never reports."""
    gets_a_core = threading.Event()
    monkeypatch.setattr(ResidentSlicer, "run", lambda slicer: gets_a_core.wait())
    slicer = ResidentSlicer(folder.category, folder.slicer, folder.intake, finite=False)
    slicer.start()
    try:
        assert [report.state for report in read_reports(folder.category)] == ["starting"]
    finally:
        gets_a_core.set()
        slicer.stop()


def test_a_second_slicer_of_the_same_stage_takes_over_from_the_first(folder: Folder) -> None:
    """As where a join of DataFrames is called again in one process."""
    seen = threading.Event()

    def noticing() -> Intake:
        seen.set()
        return folder.intake()

    first = ResidentSlicer(folder.category, folder.slicer, noticing, finite=False)
    first.start()
    assert seen.wait(60)
    folder.put("a.parquet", rows(0))
    second = ResidentSlicer(folder.category, folder.slicer, folder.intake, finite=True)
    second.start()
    second.join()
    assert not first.is_active
    assert first.error is None
    assert second.error is None
    assert folder.ids() == [0, 1, 2]
    [report] = read_reports(folder.category) or [None]
    assert report is None or report.state == "stopped"


def test_nothing_keeps_a_slicer_that_has_ended(folder: Folder) -> None:
    """What it was made of may be a whole session, in a process that goes on with others."""
    slicer = ResidentSlicer(folder.category, folder.slicer, folder.intake, finite=True)
    slicer.start()
    slicer.join()
    kept = weakref.ref(slicer)
    del slicer
    gc.collect()
    assert kept() is None
