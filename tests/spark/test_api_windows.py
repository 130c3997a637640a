"""`dovetail.join` within windows: the batch join of DuckDB on windows and keys, over a restart that finds no
index; other windows in the same home are refused."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pytest

import dovetail
from dovetail.errors import StateError
from dovetail.service.committed_files import committed_files
from dovetail.service.metrics import measured
from spark.application import Application, Mode
from spark.batch import add, count, database, differences
from spark.events import events, write_files
from spark.window_batch import window_join_sql, windowed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS, KEYS, SEED = 2_000, 120, 51
SCHEMA = "eventtime timestamp, k long, id long, v int"
MINUTE = datetime.timedelta(minutes=1)
JOINS: dict[str, dict[str, Any]] = {
    "tumbling_inner": {"within": dovetail.Tumbling("1 minute")},
    "hopping_anti": {"within": dovetail.Hopping(MINUTE, every="25 seconds"), "emit": "lazy"},
    "session_full": {"within": dovetail.Session("50 seconds"), "max_session": "12 hours"},
}


def joined(application: Application, name: str, mode: Mode, **given: Any) -> DataFrame:
    left, right = (
        application.spark.readStream.schema(SCHEMA).parquet(str(application.folder / side)) for side in "lr"
    )
    return dovetail.join(
        left.drop("v"),
        right.drop("v"),
        "k",
        how=name.split("_")[1],
        left_time="eventtime",
        right_time="eventtime",
        name=name,
        home=application.home,
        buckets=4,
        mode=mode,
        **{**JOINS[name], **given},
    )


def run(application: Application, mode: Mode) -> None:
    writing = []
    for name in JOINS:
        rows, folder = joined(application, name, mode), application.folder / name
        rights = [] if name.endswith("anti") else ["eventtime_right", "id_right"]
        assert rows.columns == ["k", "eventtime", "id", *rights, "window_start", "window_end"]
        writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}.checkpoint")
        writing.append(writer.trigger(availableNow=True).start(str(folder)))
    for query in writing:
        query.awaitTermination()


def test_windows_equal_the_batch_join_over_a_restart(application: Application) -> None:
    left, right = events(ROWS, KEYS, SEED), events(ROWS, KEYS, SEED + 1)
    half = ROWS // 2
    for part in (0, 1):
        for side, table in (("l", left), ("r", right)):
            write_files(table.slice(part * half, half), application.folder / side, 1, first=part)
        run(application, "drain" if part else "available-now")
        application.index.rename(application.folder / f"index {part}")  # a copy may still be made of it

    db = database(l=left, r=right)
    windowed(db)
    for name in JOINS:
        shape, how = name.split("_")
        add(db, name, committed_files(application.folder / name))
        select = {"full": "coalesce(l.k, r.k), l.id, r.id", "anti": "l.k, l.id"}.get(how, "l.k, l.id, r.id")
        expected = window_join_sql(shape, how, select)
        rights = "" if how == "anti" else "id_right, "
        assert count(db, expected) > 200, name
        found = f"SELECT k, id, {rights}window_start, window_end FROM {name}"
        assert differences(db, found, expected) == {}, (name, SEED)
        (join,) = measured(application.home, name).joins
        assert (join.measure.totals["left_in"], join.measure.totals["right_in"]) == (ROWS, ROWS), name
        assert join.measure.totals["open_rows"] == 0, name

    with pytest.raises(StateError, match="cannot go on with this query"):
        joined(application, "tumbling_inner", "stream", within=dovetail.Tumbling("2 minutes"))
    with pytest.raises(StateError, match="cannot go on with this query"):
        joined(application, "tumbling_inner", "stream", within=None, before="1 minute", after="1 minute")
    assert application.spark.streams.active == []
