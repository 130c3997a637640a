"""What a run says about the sources of its queries: from Spark's status, from the log, and from folders."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dovetail.engine.idle import READ_EVERY_US
from dovetail.log.category import Category
from dovetail.log.source_progress import SourceReport, Waiting, WriterState, read_reports, write_report
from dovetail.model.interval import IntervalSpec
from dovetail.plan.physical import CategoryOutput, FilesSource, InputTable, ScribeSource, SlicerStage
from dovetail.spark import source_reports
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.source_reports import (
    LogInputs,
    SourceLook,
    StageReporter,
    Upstream,
    commits_taken,
    found_empty,
)
from dovetail.spark.waiting_files import WaitingFiles
from unit.engine.stepping import Driven

SECOND_US = 1_000_000


@pytest.mark.parametrize(
    ("message", "data", "active", "expected"),
    [
        ("Initializing sources", False, False, None),
        ("Getting offsets from FileStreamSource[file:/in]", False, True, None),
        ("Writing offsets to log", False, True, None),
        ("Processing new data", True, True, False),
        ("Waiting for next trigger", True, False, False),
        ("Waiting for data to arrive", False, False, True),
        ("Waiting for next trigger", False, False, True),
        ("No new data but cleaning up state", False, True, None),
        ("Stopped", False, False, None),
    ],
)
def test_what_sparks_status_says(message: str, data: bool, active: bool, expected: bool | None) -> None:
    status = {"message": message, "isDataAvailable": data, "isTriggerActive": active}
    assert found_empty(status) is expected


def test_offsets_of_other_sources_do_not_count() -> None:
    join = {"left": 3, "right": 4, "left_floor": 1, "right_floor": 2}
    offsets = [{"logOffset": 7}, {"version": 1, "commit": 5}, None, 12, join, {"topic": {"0": 9}}]
    assert commits_taken(offsets) == [(5,), (3, 4)]


@dataclass
class Reading:
    """A query that reads the sides of a join by hand."""

    join: Driven
    inputs: LogInputs
    at: dict[str, int]
    said: dict[str, int] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, rest_us: int = 0) -> Reading:
        join, at = Driven.make(folder, IntervalSpec(1, 1, "left")), {"us": 0}
        (Path(join.config.home) / "apps" / "app").mkdir(parents=True, exist_ok=True)
        sources = [Upstream(join.config.home, ("left", "right"), rest_us)]
        return cls(join, LogInputs(sources, lambda: at["us"]), at)

    def says(self, side: str, state: WriterState) -> None:
        self.said[side] = looks = self.said.get(side, 0) + 1
        category = Category.open(self.join.config.home, side)
        write_report(category, SourceReport(f"app.{side}", "app", state, looks, looks, 0))

    def look(self, left: int, right: int, empty: bool | None = True) -> SourceLook | None:
        self.at["us"] += READ_EVERY_US
        offset = {"left": left, "right": right, "left_floor": 0, "right_floor": 0}
        return self.inputs.look(lambda: [offset], lambda: empty)


def state(looked: SourceLook | None) -> str | None:
    return looked and looked.state


def test_a_query_that_reads_the_log_is_done_when_its_writers_are(tmp_path: Path) -> None:
    query = Reading.make(tmp_path)
    query.join.append("left", ("a", 1), ("b", 2))
    query.join.append("right", ("a", 1))
    assert state(query.look(1, 1)) == "empty", "nobody reports: what is there is all there is"
    behind = query.look(0, 1)
    assert behind is not None
    assert (behind.state, behind.waiting.rows) == ("behind", 2)
    assert state(query.look(1, 1, empty=False)) == "behind", "a batch is being written"
    assert state(query.look(1, 1, empty=None)) == "empty", "it looks, and has taken all that there is"
    assert query.look(0, 1, empty=None) is None, "it looks, and may find what there is"
    for side in ("left", "right"):
        query.says(side, "empty")
    assert state(query.look(1, 1)) == "waiting", "these reports may be old"
    for side in ("left", "right"):
        query.says(side, "empty")
    assert state(query.look(1, 1)) == "empty"
    query.says("left", "behind")
    query.says("right", "empty")
    assert state(query.look(1, 1)) == "waiting"
    for _ in range(20):
        query.says("right", "empty")
        looked = query.look(1, 1)
    assert state(looked) == "waiting", "the writer of the left side is dead"


def test_a_join_that_may_still_put_out_what_it_holds_is_not_done(tmp_path: Path) -> None:
    query = Reading.make(tmp_path, rest_us=10 * SECOND_US)
    query.join.append("left", ("a", 1))
    seen = [state(query.look(1, 0)) for _ in range(11)]
    assert seen == ["waiting"] * 10 + ["empty"]
    assert state(query.look(1, 0, empty=False)) == "behind"
    assert state(query.look(1, 0)) == "waiting", "it begins again"


def test_before_its_first_batch_a_query_has_taken_nothing(tmp_path: Path) -> None:
    query = Reading.make(tmp_path)
    assert state(query.inputs.look(lambda: [], lambda: True)) == "empty"
    query.join.append("right", ("a", 1))
    assert state(query.inputs.look(lambda: [], lambda: True)) == "behind"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(str(tmp_path / "home"), "app", "stage")


def batch(checkpoint: Checkpoint, number: int, paths: list[Path], *, done: bool, compact: int = 0) -> None:
    """A micro-batch as Spark's file source notes it; `compact`: how many before it are in its file."""
    folder = Path(checkpoint.uri)
    for name in ("offsets", "commits", "sources/0"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"logOffset":{number}}}')
    entries = [
        json.dumps({"path": f"file://{path}", "timestamp": 1, "batchId": number - compact + at})
        for at, path in enumerate(paths)
    ]
    name = f"{number}.compact" if compact else str(number)
    (folder / "sources" / "0" / name).write_text("\n".join(["v1", *entries]))
    if done:
        (folder / "commits" / str(number)).write_text("v1\n{}")


def table(place: Path | str) -> InputTable:
    return InputTable("t", (), FilesSource(str(place), "parquet"))


def test_files_that_no_finished_batch_has_read(tmp_path: Path, checkpoint: Checkpoint) -> None:
    folder = tmp_path / "in"
    (folder / "deeper").mkdir(parents=True)
    files = [folder / "a", folder / "b", folder / "deeper" / "c c", folder / "d"]
    for number, file in enumerate(files):
        file.write_bytes(b"x" * (number + 1))
        os.utime(file, (1000 + number, 1000 + number))
    for hidden in ("_SUCCESS", ".a.crc"):
        (folder / hidden).write_bytes(b"xx")
    waiting = WaitingFiles([table(folder)], checkpoint)
    assert waiting.count() == Waiting(4, 10, newest_us=1003 * SECOND_US)
    batch(checkpoint, 0, files[:1], done=True)
    batch(checkpoint, 1, files[1:2], done=False)
    assert waiting.count() == Waiting(3, 9, newest_us=1003 * SECOND_US), "one that is being read waits"
    (Path(checkpoint.uri) / "commits" / "1").write_text("v1\n{}")
    for number in (0, 1):
        (Path(checkpoint.uri) / "sources" / "0" / str(number)).unlink()
    quoted = Path(str(files[2]).replace(" ", "%20"))
    batch(checkpoint, 2, [*files[:2], quoted], done=True, compact=2)
    assert waiting.count() == Waiting(1, 4, newest_us=1003 * SECOND_US)
    assert WaitingFiles([table(folder)], checkpoint).count() == waiting.count(), "a new run"
    assert waiting.now() == Waiting(1, 4, newest_us=1003 * SECOND_US)
    none = Waiting(0, 0, newest_us=1003 * SECOND_US)
    assert waiting.none() == none, "the source still says when it last grew"


@pytest.mark.parametrize(
    "tables",
    [
        [],
        [table("s3://bucket/in")],
        [InputTable("t", (), ScribeSource("c"))],
        [table("/in"), table("s3://b")],
    ],
)
def test_what_cannot_be_counted_is_not_known(tables: list[Any], checkpoint: Checkpoint) -> None:
    waiting = WaitingFiles(tables, checkpoint)
    assert waiting.now() == waiting.none() == Waiting()


@dataclass
class Query:
    """A query with a status."""

    status: dict[str, Any]
    isActive: bool = True


def status(message: str, data: bool = False, active: bool = False) -> dict[str, Any]:
    return {"message": message, "isDataAvailable": data, "isTriggerActive": active}


def test_a_slicer_from_its_start_over_a_failure_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it starts, at work, caught up, failed, started again, and in a look that takes long."""
    home = Driven.make(tmp_path, IntervalSpec(1, 1, "left")).config.home
    steady = {"us": 0}
    monkeypatch.setattr(source_reports, "upstreams", lambda rows: ())
    monkeypatch.setattr(source_reports, "steady_us", lambda: steady["us"])
    monkeypatch.setattr(source_reports, "AGAIN_S", 0.0)
    output = CategoryOutput("left", ("_key_0",), "_time", 4)
    stage = SlicerStage("left", (), (), "", output)
    reporter = StageReporter(BuiltStage("left", None, output, (), stage), "left", home, "app")  # type: ignore[arg-type]

    def says(query: Query | None) -> tuple[str, int]:
        steady["us"] += SECOND_US
        reporter.look_and_tell(query)  # type: ignore[arg-type]
        (report,) = read_reports(Category.open(home, "left"))
        assert report.producer == "app.left"
        return report.state, report.looks

    looking = Query(status("Getting offsets from Kafka", active=True))
    assert says(None) == ("starting", 1)
    assert says(Query(status("Processing new data", True, True))) == ("behind", 2)
    assert says(Query(status("Waiting for next trigger"))) == ("empty", 3)
    assert says(looking) == ("empty", 3), "no look has ended, so nothing is said"
    assert says(Query(status("Stopped"), isActive=False)) == ("stopped", 4)
    assert says(looking) == ("stopped", 4)
    assert says(Query(status("Waiting for next trigger"))) == ("empty", 5)
    for _ in range(3):
        assert says(looking) == ("empty", 5)
    assert says(looking) == ("behind", 6), "it takes so long that it is work"
    assert says(Query(status("Waiting for data to arrive"))) == ("empty", 7)
