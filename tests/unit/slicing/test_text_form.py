"""Text files that a thread slices: each line is a row or a reject once, also through crashes. A few lines of
Python stand in for Spark, which reads the lines in doubt in a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.model.validity import Validity
from dovetail.slicing.covered_files import CoveredFiles, Slicer
from dovetail.slicing.direct import direct_slice
from dovetail.slicing.folder_intake import FolderIntake
from dovetail.slicing.owed_rejects import forget_owed, note_owed, owed_of, owed_rejects
from dovetail.slicing.resident import ResidentSlicer
from dovetail.slicing.text_form import Aside, TextForm, kept_by_threads
from dovetail.slicing.text_lines import MOMENT, TextFormat
from dying import crash_everywhere

STORED = pa.schema([("id", pa.int64()), ("at", MOMENT)])
SIDE = pa.schema([("_hash", pa.int64()), ("_time", pa.int64()), ("_key_0", pa.int64())])
REJECTS = pa.schema([("file", pa.string()), ("raw", pa.string())])


class Lenient:
    """Takes an `id` that is text; what is no JSON is a reject."""

    def rows(self, files: Sequence[str]) -> pa.Table:
        found = [json.loads(line) for _, line in self._lines(files) if line.startswith("{")]
        return pa.table([[int(row["id"]) for row in found], [0] * len(found)], schema=STORED)

    def rejects(self, files: Sequence[str]) -> pa.Table:
        bad = [(self.name(file), line) for file, line in self._lines(files) if not line.startswith("{")]
        return pa.table([[file for file, _ in bad], [line for _, line in bad]], schema=REJECTS)

    def name(self, file: str) -> str:
        return f"file:{file}"

    def _lines(self, files: Sequence[str]) -> list[tuple[str, str]]:
        return [(file, line) for file in files for line in Path(file).read_text().splitlines()]


class Texts:
    """A home with a folder of JSON files, and what became of their lines."""

    def __init__(
        self,
        root: Path,
        by_query: Sequence[str] = (),
        before: Sequence[str] = (),
        stage: str = "left",
        *,
        keeps: bool = True,
    ) -> None:
        self.root, self.by_query, self.before, self.keeps = root, by_query, before, keeps
        (root / "in").mkdir(parents=True, exist_ok=True)
        home = str(root / "home")
        self.category = Category.create(home, f"app.{stage}", SIDE, buckets=4, role="side")
        self.rejects = Category.create(home, "app.rejects.t", REJECTS, buckets=1, role="rejects")
        self.slicer = Slicer("app", stage, str(root / "in"))

    def put(self, name: str, *lines: str) -> str:
        (self.root / "in" / name).write_text("".join(f"{line}\n" for line in lines))
        return str(self.root / "in" / name)

    def slice(self, max_files: int = 200) -> None:
        def form(covered: CoveredFiles) -> TextForm:
            short = direct_slice(
                STORED, self.category, {"_key_0": "id", "_time": "at"}, ("_key_0",), "_time", Validity()
            )
            assert short is not None
            whose = self.category.home, "app", "t"
            owed = owed_of(owed_rejects(*whose), covered.files, kept_by_threads(self.rejects))
            before = {*self.before, *owed}
            aside = Aside(
                self.rejects, self.slicer, covered, self.by_query, before, lambda: forget_owed(*whose)
            )
            format_ = TextFormat("json", STORED)
            return TextForm(short, self.slicer.place, format_, Lenient(), aside if self.keeps else None)

        def intake() -> FolderIntake:
            return FolderIntake(self.category, self.slicer, form, "app.vanished.t", max_files=max_files)

        slicer = ResidentSlicer(self.category, self.slicer, intake, finite=True)
        slicer.run()
        if slicer.error is not None:
            raise slicer.error

    def ids(self) -> list[int]:
        return sorted(_column(self.category, "_key_0"))

    def bad(self) -> list[tuple[str, str]]:
        files = [Path(file).name for file in _column(self.rejects, "file")]
        return sorted(zip(files, _column(self.rejects, "raw"), strict=True))


def _column(category: Category, name: str) -> list[Any]:
    commits = category.commits(category.first_commit(), category.next_commit())
    segments = [category.open_segment(info) for commit in commits for info in commit.segments]
    return [value for segment in segments for value in segment.batch.column(name).to_pylist()]


def line(number: int) -> str:
    return json.dumps({"id": number, "at": "2026-11-17T20:15:00Z"})


def test_lines_in_doubt_and_whole_files_go_to_the_other_reader(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    texts.put("a", line(0), '{"id": "1"}', "bad", line(2))
    (tmp_path / "in" / "day=1").mkdir()
    texts.put("day=1/b", line(3), "worse")
    (tmp_path / "in" / "c").write_bytes(b"\xef\xbb\xbfmarked\n")
    texts.put("d", *map(line, range(4, 8)))
    texts.slice()
    texts.slice()
    assert texts.ids() == [*range(8)]
    assert texts.bad() == [("a", "bad"), ("b", "worse"), ("c", "\ufeffmarked")]


def test_rejects_that_a_query_of_spark_has_kept_or_owes(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    kept, owed = texts.put("kept", line(0), "kept"), texts.put("owed", line(1), "owed")
    texts = Texts(tmp_path, [kept], [owed])
    (tmp_path / "in" / "owed").rename(tmp_path / "owed")
    texts.before = [str(tmp_path / "owed")]
    texts.put("new", "new")
    texts.slice()
    assert texts.bad() == [("new", "new"), ("owed", "owed")]
    assert texts.ids() == [0]


def test_rejects_of_files_that_were_read_while_another_stage_kept_them(tmp_path: Path) -> None:
    """They are kept once, wherever the stage dies that makes good for it; then nothing is owed."""

    def prepare(home: str) -> Texts:
        before = Texts(Path(home))
        before.put("a", line(0), "bad a")
        before.slice()
        owed = [before.put("b", line(1), "bad b"), before.put("c", line(2))]
        Texts(Path(home), stage="other", keeps=False).slice()
        note_owed(before.category.home, "app", "t", owed)
        before.put("d", line(3), "bad d")
        return Texts(Path(home), stage="other")

    def check(home: str) -> None:
        texts = Texts(Path(home), stage="other")
        texts.put("e", line(4))
        texts.slice()
        assert texts.ids() == [*range(5)]
        assert texts.bad() == [("a", "bad a"), ("b", "bad b"), ("d", "bad d")]
        assert not owed_rejects(texts.category.home, "app", "t")

    assert crash_everywhere(tmp_path, prepare, Texts.slice, check) > 10


def test_what_another_stage_would_owe_is_kept_by_whoever_comes_to_it(tmp_path: Path) -> None:
    """The change that wrote it down did not come to pass, and the stage that keeps rejects stays the same."""
    texts = Texts(tmp_path)
    texts.put("a", line(0), "bad a")
    texts.slice()
    late = texts.put("b", line(1), "bad b")
    Texts(tmp_path, stage="other", keeps=False).slice()
    note_owed(texts.category.home, "app", "t", [late])
    texts.slice()
    assert texts.ids() == [0, 1]
    assert texts.bad() == [("a", "bad a"), ("b", "bad b")]
    assert not owed_rejects(texts.category.home, "app", "t")


def test_another_stage_becomes_the_first_to_read_the_table(tmp_path: Path) -> None:
    """It keeps the rejects of files that the one before it has not read, and of no others."""
    before = Texts(tmp_path)
    before.put("a", line(0), "bad a")
    before.put("b", line(1))
    before.slice()
    now = Texts(tmp_path, stage="other")
    now.put("c", line(2), "bad c")
    now.slice()
    now.slice()
    assert now.ids() == [0, 1, 2]
    assert now.bad() == [("a", "bad a"), ("c", "bad c")]
    before.put("d", line(3), "bad d")
    before.slice()
    assert before.bad() == [("a", "bad a"), ("c", "bad c"), ("d", "bad d")], "and back"


def test_a_crash_anywhere_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """After it, batches are cut differently."""

    def prepare(home: str) -> Texts:
        texts = Texts(Path(home))
        texts.put("a", line(0), "bad a")
        texts.put("b", line(1), "bad b")
        return texts

    def check(home: str) -> None:
        texts = Texts(Path(home))
        texts.put("c", line(2), "bad c")
        texts.slice()
        assert texts.ids() == [0, 1, 2]
        assert texts.bad() == [(name, f"bad {name}") for name in "abc"]

    def action(texts: Texts) -> None:
        texts.slice(max_files=1)

    assert crash_everywhere(tmp_path, prepare, action, check) > 10
