"""A stream that stops: outer rows of the other wait for it no longer than the idle timeout and their
window. One whose slicer is slow has not stopped: they wait as long as it takes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import dovetail
from dovetail.log.category import Category
from dovetail.log.source_progress import SourceReport, read_reports
from dovetail.service.figures import RunFigures
from dovetail_dev.spark_cluster import until
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 10_000
TIMEOUT_US = 2_000_000
PQL = pairs("LEFT", "pacing = \"%s\", idle_timeout = INTERVAL '2 seconds'", left_files=2)


@pytest.mark.parametrize("pacing", ["on", "off"] if THOROUGH else ["on"])
def test_windows_close_although_the_other_stream_has_stopped(application: Application, pacing: str) -> None:
    """Right ends after a tenth of the hour. Most left rows of the hour come out while the join runs."""
    left, right = events(ROWS, 1000, 31), events(ROWS, 1000, 32).slice(0, ROWS // 10)
    write_files(left, application.folder / "l", 6)
    write_files(right, application.folder / "r", 1)
    stop, alone = threading.Event(), []

    def look(now: RunFigures) -> None:
        alone.append(now.joins[0].left_alone if now.joins else 0)
        if alone[-1] > 0.75 * ROWS:
            stop.set()

    application.run(PQL % pacing, "stream", stop=stop, on_figures=look)
    assert alone[-1] > 0.75 * ROWS
    (join,) = application.run(PQL % pacing, "drain").joins
    assert join.late_rows == 0
    db = database(l=left, r=right, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("left", "l.id, r.id", ON)) == {}


def test_a_slow_slicer_is_not_an_idle_stream(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right has two files. Once all else is joined, its slicer takes three times the idle timeout over the
    second, or until left rows have come out for want of partners that are in that file."""
    from dovetail.slicing import resident

    left, right = events(ROWS, 1000, 31), events(ROWS, 1000, 32)
    write_files(left, application.folder / "l", 1)
    write_files(right, application.folder / "r", 2)
    stop, joined, given_up = threading.Event(), threading.Event(), threading.Event()
    reports: list[SourceReport] = []
    append_parts = resident.append_parts

    def slowly(category: Category, written: list[Any], producer: str, batch: int, *rest: Any) -> Any:
        while producer == "app.pairs.right" and batch == 1 and not given_up.is_set():
            reports.extend(read_reports(category) if joined.is_set() else [])
            if reports and reports[-1].looked_at_us - reports[0].looked_at_us > 3 * TIMEOUT_US:
                break
            given_up.wait(0.1)
        return append_parts(category, written, producer, batch, *rest)

    def look(now: RunFigures) -> None:
        if now.joins and (now.joins[0].left_rows, now.joins[0].right_rows) == (ROWS, ROWS // 2):
            joined.set()
        if now.joins and now.joins[0].left_alone > 0.75 * ROWS:
            given_up.set()
        if given_up.is_set() or [stream.rows_in for stream in now.streams] == [ROWS, ROWS]:
            stop.set()

    monkeypatch.setattr(resident, "append_parts", slowly)
    pql = pairs("LEFT", "pacing = \"off\", idle_timeout = INTERVAL '2 seconds'", right_files=1)
    application.run(pql, "stream", stop=stop, on_figures=look)
    assert {report.state for report in reports} == {"behind"}
    assert reports[-1].files == 1
    (join,) = application.run(pql, "drain").joins
    assert join.late_rows == 0
    db = database(l=left, r=right, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("left", "l.id, r.id", ON)) == {}


def test_a_join_over_a_join_waits_for_the_first_one(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The left slicer of the second join has the first join for its source, in the same query. While a slicer
    of the first is behind, so is all that comes after it."""
    from dovetail.slicing import resident

    slow, quick = threading.Event(), threading.Event()
    append_parts = resident.append_parts

    def slowly(category: Category, written: list[Any], producer: str, *rest: Any) -> Any:
        if producer.endswith("first.right") and slow.is_set():
            quick.wait()
        return append_parts(category, written, producer, *rest)

    monkeypatch.setattr(resident, "append_parts", slowly)

    def stream(name: str) -> DataFrame:
        schema = "eventtime timestamp, k long, id long, v int"
        return application.spark.readStream.schema(schema).parquet(str(application.folder / name))

    def joined(left: DataFrame, right: DataFrame, name: str) -> DataFrame:
        times = {"left_time": "eventtime", "right_time": "eventtime"}
        bounds = {"before": "2 minutes", "after": "3 minutes"}
        return dovetail.join(left, right, "k", **times, **bounds, name=name, home=application.home, buckets=4)

    def said(name: str) -> tuple[str, int | None]:
        (report,) = read_reports(Category.open(application.home, name))
        return report.state, report.files

    def wait(name: str, state: str) -> None:
        until(lambda: said(name)[0] == state or not query.isActive, f"{name} is {state}")
        assert query.isActive, query.exception()

    for number, name in enumerate(("l", "r", "x")):
        write_files(events(100, 10, number), application.folder / name, 1)
    try:
        first = joined(stream("l"), stream("r"), "first").select("eventtime", "k", "id")
        second = joined(first, stream("x"), "second")
        writer = second.writeStream.format("noop")
        query = writer.option("checkpointLocation", str(application.folder / "checkpoint")).start()
        wait("second.left", "empty")
        assert said("first.left")[0] == said("first.right")[0] == "empty", "they were before it"
        slow.set()
        write_files(events(100, 10, 3), application.folder / "r", 1, first=1)
        wait("first.right", "behind")
        wait("second.left", "waiting")
        quick.set()
        wait("first.right", "empty")
        wait("second.left", "empty")
    finally:
        quick.set()
        for active in application.spark.streams.active:
            active.stop()
    for name in ("first.left", "first.right", "second.left", "second.right"):
        until(lambda name=name: said(name)[0] == "stopped", f"{name} is stopped")
