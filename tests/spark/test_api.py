"""`dovetail.join`: two streaming DataFrames in, one out."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import dovetail
from change_oracle import ChangingJoin, Spec
from dovetail.changes.versions import read_version
from dovetail.errors import PlanError, StateError
from dovetail.plan.application_file import read_application
from dovetail.service.committed_files import committed_files
from dovetail_dev.spark_cluster import until
from laws.effort import THOROUGH
from replaying import Replayed
from spark.application import Application
from spark.batch import ON, count, database, differences, join_sql
from spark.events import events, write_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 3000
PAIRS = ("inner", "left", "right", "full")
HOWS = (*PAIRS, "semi", "anti") if THOROUGH else ("inner", "full", "anti")
RIGHT = ("eventtime_right", "id_right", "v_right")
SCHEMA = "eventtime timestamp, k long, id long, v int"
BOUNDS = {"before": "2 minutes", "after": datetime.timedelta(minutes=3)}


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def write(rows: DataFrame, folder: Path, **trigger: object):
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}.checkpoint")
    return writer.trigger(**trigger).start(str(folder))


def test_every_join_type(application: Application) -> None:
    left, right = events(ROWS, 200, 41), events(ROWS, 200, 42)
    write_files(left, application.folder / "l", 2)
    write_files(right, application.folder / "r", 2)
    writing = {}
    for how in HOWS:
        joined = dovetail.join(
            stream(application.spark, application.folder / "l"),
            stream(application.spark, application.folder / "r"),
            "k",
            how=how,
            left_time="eventtime",
            right_time="eventtime",
            name=f"api_{how}",
            home=application.home,
            buckets=4,
            mode="drain",
            **BOUNDS,
        )
        assert joined.columns == ["k", "eventtime", "id", "v", *(RIGHT if how in PAIRS else ())]
        writing[how] = write(joined, application.folder / how, availableNow=True)
    for how, query in writing.items():
        query.awaitTermination()
        db = database(l=left, r=right, found=committed_files(application.folder / how))
        rows = "coalesce(l.k, r.k), l.eventtime, l.id, l.v, r.eventtime, r.id, r.v"
        expected = join_sql(how, rows if how in PAIRS else "l.k, l.eventtime, l.id, l.v", ON)
        assert count(db, expected) > ROWS / 10
        assert differences(db, "FROM found", expected) == {}, how


def test_other_arguments_go_by_the_rules_of_changes(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    """The same name and home, and a wider window: what was seen stays, and the step is that of the oracle.
    Another key is refused."""
    sides = {"l": events(ROWS, 200, 45), "r": events(ROWS, 200, 46)}
    home, folder = application.home, application.folder

    def joined(part: int, mode: str, key: str = "k", **bounds: str) -> DataFrame:
        for name, table in sides.items():
            write_files(table.slice(part * ROWS // 2, ROWS // 2), folder / name, 1, first=part)
        streams = (stream(application.spark, folder / name) for name in ("l", "r"))
        return dovetail.join(
            *streams,
            [("k", key)],
            how="left",
            left_time="eventtime",
            right_time="eventtime",
            name="changed",
            home=home,
            mode=mode,
            history="1 day",
            **bounds,
        )

    narrow = Spec(120_000_000, 180_000_000, "left", "all", "first")
    wide = narrow._replace(before=900_000_000)
    became = {2: lambda join: join.change(wide)}
    expected = Replayed(home, "changed", ("id", "id"), ChangingJoin(narrow), became)
    wanted: Counter = Counter()
    for version, (mode, before) in enumerate((("available-now", "2 minutes"), ("drain", "15 minutes")), 1):
        rows = joined(version - 1, mode, before=before, after="3 minutes")
        write(rows, folder / "out", availableNow=True).awaitTermination()
        (stage,) = read_application(home, "changed").joins
        wanted += Counter(expected.rows(version, stage))
    found = [pq.ParquetFile(file).read(["id", "id_right"]) for file in committed_files(folder / "out")]
    pairs = Counter((row["id"], row["id_right"]) for table in found for row in table.to_pylist())
    assert pairs == wanted
    last = read_version(home, "changed", 2)
    assert [change.rule for change in last.changes] == ["bounds"]
    assert last.took_over["changed"] == 1
    (verdict,) = [record.getMessage() for record in caplog.records if "takes over" in record.getMessage()]
    assert "join changed: version 2 takes over: state kept" in verdict
    assert "15 minutes" in verdict
    with pytest.raises(StateError) as refused:
        joined(1, "drain", "id", before="15 minutes", after="3 minutes")
    assert "right side of changed: the key: k, now id" in refused.value.what
    assert "give the join another name=" in str(refused.value.hint)


def test_a_live_stream(application: Application) -> None:
    left, right = events(ROWS, 200, 43), events(ROWS, 200, 44)
    for name, table in (("l", left), ("r", right)):
        write_files(table.slice(0, ROWS // 2), application.folder / name, 1)
    joined = dovetail.join(
        stream(application.spark, application.folder / "l"),
        stream(application.spark, application.folder / "r").withColumnRenamed("k", "rk"),
        [("k", "rk")],
        left_time="eventtime",
        right_time="eventtime",
        name="live",
        home=application.home,
        **BOUNDS,
    ).select("id", "id_right")
    output = write(joined, application.folder / "out", processingTime="200 milliseconds")
    try:
        for name, table in (("l", left), ("r", right)):
            write_files(table.slice(ROWS // 2), application.folder / name, 1, first=1)
        db = database(l=left, r=right)
        expected = join_sql("inner", "l.id, r.id", ON)
        wanted = sorted(db.execute(expected).fetchall())

        def found() -> list[tuple[int, int]]:
            files = [pq.read_table(file) for file in committed_files(application.folder / "out")]
            return sorted(tuple(row.values()) for table in files for row in table.to_pylist())

        # Threads slice both streams: of what they have not come to, Spark knows nothing.
        until(lambda: len(found()) >= len(wanted) or not output.isActive, "all pairs come out")
        assert output.isActive, output.exception()
    finally:
        for query in application.spark.streams.active:
            query.stop()
    assert found() == wanted


def test_calls_that_mean_nothing(application: Application) -> None:
    write_files(events(10, 5, 1), application.folder / "l", 1)
    rows = stream(application.spark, application.folder / "l")
    batch = application.spark.read.parquet(str(application.folder / "l"))
    times = {"left_time": "eventtime", "right_time": "eventtime", "home": application.home, "name": "wrong"}
    with pytest.raises(PlanError, match="not a stream"):
        dovetail.join(batch, rows, "k", **times, **BOUNDS)
    with pytest.raises(PlanError, match="the right DataFrame is a NoneType"):
        dovetail.join(rows, None, "k", **times, **BOUNDS)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="no column nothing"):
        dovetail.join(rows, rows, "nothing", **times, **BOUNDS)
    with pytest.raises(PlanError, match="no column when"):
        dovetail.join(rows, rows, "k", **{**times, "right_time": "when"}, **BOUNDS)
    with pytest.raises(PlanError, match="duration"):
        dovetail.join(rows, rows, "k", **times, before="soon", after="1 minute")
    with pytest.raises(PlanError, match="timestamp"):
        dovetail.join(rows, rows, "k", **{**times, "left_time": "v"}, **BOUNDS)
    assert application.spark.streams.active == []
