"""A query of Spark goes on where a thread has stopped: the checkpoint that is written for it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dovetail.log import history
from dovetail.log.category import Category
from dovetail.plan.physical import CategoryOutput, SlicerStage
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.standing import CommitsRead, FilesDone
from dovetail.slicing.thread_record import left_by_thread
from dovetail.spark.batch_files import files_done, last_done, last_planned, offsets_done
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.progress import take_up
from dovetail.spark.seeding import seed
from dovetail.spark.standings import commits_before, files_before, standing_of
from dying import crash_everywhere
from unit.slicing.test_resident import SIDE, Chain, Folder, rows
from unit.slicing.test_text_form import Texts, line

OUTPUT = CategoryOutput("app.left", ("_key_0",), "_time", 4)


def follow(home: str) -> Checkpoint:
    history.forget()
    stage = SlicerStage("left", (), (), "", OUTPUT)
    nothing: Any = None
    take_up(nothing, BuiltStage("left", nothing, OUTPUT, (), stage), home, "app")
    return Checkpoint(home, "app", "left")


def test_files(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    names = ["a.parquet", "b c.parquet", "day=1.parquet"]
    for number, name in enumerate(names):
        folder.put(name, rows(3 * number))
    folder.slice(max_files=1)
    checkpoint = follow(folder.home)
    files, _ = files_done(checkpoint, {})
    assert [Path(file).name for file in sorted(files)] == ["a.parquet", "b%20c.parquet", "day=1.parquet"]
    assert (last_done(checkpoint), last_planned(checkpoint)) == (2, 2)
    assert not (tmp_path / "home" / folder.slicer.path).exists(), "there is one record, that of Spark"
    assert not folder.category.marks()
    assert sorted(files_before(checkpoint, folder.category, folder.slicer)) == [
        str(tmp_path / "in" / name) for name in names
    ], "what a thread would take over again"


def test_files_that_are_elsewhere(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path), "app", "left")
    files = frozenset(["s3a://bucket/a%20b.json", "s3a://bucket/c.json"])
    seed(checkpoint, 4, FilesDone(files))
    assert sorted(files_done(checkpoint, {})[0]) == sorted(files)
    assert standing_of(checkpoint, None, Slicer("app", "left", "s3://bucket")) == FilesDone(files)


def test_commits(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    for number in range(3):
        chain.append(rows(3 * number))
        chain.slice()
    assert left_by_thread(chain.category, chain.slicer) == CommitsRead("events", 3)
    checkpoint = follow(chain.home)
    assert offsets_done(checkpoint)[-1] == {"version": 1, "commit": 3, "category": "events"}
    assert commits_before(checkpoint, chain.category, chain.slicer) == 3


def test_nothing_is_written_for_a_query_that_has_its_own_record(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    checkpoint = follow(folder.home)
    assert last_planned(checkpoint) == -1, "nobody has sliced"
    folder.put("a.parquet", rows(0))
    folder.slice()
    assert left_by_thread(folder.category, folder.slicer) == FilesDone(
        frozenset([str(tmp_path / "in" / "a.parquet")])
    )
    follow(folder.home)
    planned = Path(checkpoint.uri, "offsets/1")
    planned.write_text('v1\n{}\n{"logOffset":1}')
    follow(folder.home)
    assert planned.exists(), "a batch that the query has planned since is its own"


def test_a_batch_that_spark_had_planned_before_the_thread_came_is_not_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.put("a.parquet", rows(0))
    folder.slice()
    stale = Path(Checkpoint(folder.home, "app", "left").uri)
    for name in ("offsets/0", "offsets/.0.crc", "sources/0/0"):
        (stale / name).parent.mkdir(parents=True, exist_ok=True)
        (stale / name).write_text("of long ago")
    checkpoint = follow(folder.home)
    assert (last_done(checkpoint), last_planned(checkpoint)) == (0, 0)
    assert len(files_done(checkpoint, {})[0]) == 1


def test_a_crash_anywhere_leaves_one_that_can_go_on(tmp_path: Path) -> None:
    def prepare(home: str) -> Folder:
        folder = Folder(Path(home))
        for number in range(2):
            folder.put(f"{number}.parquet", rows(3 * number))
        folder.slice(max_files=1)
        return folder

    def check(home: str) -> None:
        folder = Folder(Path(home))
        checkpoint = follow(folder.home)
        assert len(files_done(checkpoint, {})[0]) == 2
        assert last_done(checkpoint) == last_planned(checkpoint) == 1

    assert crash_everywhere(tmp_path, prepare, lambda folder: follow(folder.home), check) > 10


def test_rejects_that_the_thread_of_another_stage_has_kept(tmp_path: Path) -> None:
    """The query that keeps them from now on leaves out those files, and no others."""
    texts = Texts(tmp_path)
    texts.put("a", line(0), "bad")
    texts.put("b", line(1))
    texts.slice()
    home, output = str(tmp_path / "home"), replace(OUTPUT, category="app.other")
    Category.create(home, "app.other", SIDE, buckets=4, role="side")
    stage = SlicerStage("other", (), (), "", output)
    nothing: Any = None
    for _ in range(2):
        take_up(nothing, BuiltStage("other", nothing, output, (), stage, rejects={"t": nothing}), home, "app")
        files, _ = files_done(Checkpoint(home, "app", "inputs.rejects.t"), {})
        assert [Path(file).name for file in files] == ["a"]
