"""Picks by value, end to end: from PQL and from `dovetail.join`, beside DuckDB's `arg_max` and `arg_min`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dovetail
from dovetail.service.committed_files import committed_files
from spark.application import Application
from spark.batch import Database, count, database, differences
from spark.events import events, write_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 4000
LEFT, RIGHT = events(ROWS, 300, 51), events(ROWS, 300, 52)
SCHEMA = "eventtime timestamp, k long, id long, v int"
BOUNDS = "r.eventtime BETWEEN l.eventtime - INTERVAL {before} AND l.eventtime + INTERVAL {after}"
ON = "l.k = r.k AND " + BOUNDS.format(before="90 SECOND", after="4 MINUTE")
TIME = "epoch_us(r.eventtime)"


def partners(db: Database, name: str, best: str) -> None:
    """For each left row that has partners, the one that must be picked."""
    db.execute(f"CREATE TABLE {name} AS SELECT l.id AS l, {best} AS r FROM l JOIN r ON {ON} GROUP BY l.id")
    several = f"SELECT l.id FROM l JOIN r ON {ON} GROUP BY l.id HAVING count(*) > 1"
    assert count(db, f"({several})") > ROWS / 10


def test_a_pick_by_value_in_pql(application: Application) -> None:
    for side, table in (("l", LEFT), ("r", RIGHT)):
        write_files(table, application.folder / side, 3)
    source = 'format = "parquet", maxFilesPerTrigger = 1'
    on = "l.k = r.k AND " + BOUNDS.format(before="'90 seconds'", after="'4 minutes'")
    views = {
        "nearest_value": "MIN(abs(r.v - l.v))",
        "by_text": "MAX(concat(CAST(r.v % 10 AS STRING), 'x'))",
    }
    pql = f"""
        CREATE APPLICATION picks;
        CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", {source});
        CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{{here}}/r", {source});
    """
    for name, pick in views.items():
        pql += f"""
        CREATE VIEW {name} AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON {on}
            WITH (match = "one", pick = {pick}, buckets = 4, max_step_rows = 2500);
        CREATE TABLE t_{name} AS SELECT * FROM {name} STORAGE SCRIBE(category = "{name}");
        """
    application.run(pql)
    db = database(l=LEFT, r=RIGHT)
    partners(db, "nearest_value_best", f"arg_min(r.id, (abs(r.v - l.v), {TIME}, r.id))")
    partners(db, "by_text_best", f"arg_max(r.id, ((r.v % 10)::VARCHAR || 'x', -{TIME}, -r.id))")
    for name in views:
        db.register("found", application.category(name))
        expected = f"SELECT l.id, best.r FROM l LEFT JOIN {name}_best AS best ON best.l = l.id"
        assert differences(db, "SELECT l, r FROM found", expected) == {}, name


def test_a_pick_by_value_of_dataframes(application: Application) -> None:
    for side, table in (("l", LEFT), ("r", RIGHT)):
        write_files(table, application.folder / side, 3)

    def stream(side: str) -> DataFrame:
        rows = application.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return rows.parquet(str(application.folder / side))

    joined = dovetail.join(
        stream("l"),
        stream("r"),
        "k",
        left_time="eventtime",
        right_time="eventtime",
        before="90 seconds",
        after="4 minutes",
        match="one",
        pick="max(right.v % 7 - abs(left.v - right.v))",
        name="picked",
        home=application.home,
        buckets=4,
        mode="drain",
    )
    assert joined.columns == ["k", "eventtime", "id", "v", "eventtime_right", "id_right", "v_right"]
    writer = joined.writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(application.folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(application.folder / "out")).awaitTermination()
    db = database(l=LEFT, r=RIGHT, found=committed_files(application.folder / "out"))
    partners(db, "best", f"arg_max(r.id, (r.v % 7 - abs(l.v - r.v), -{TIME}, -r.id))")
    assert differences(db, "SELECT id, id_right FROM found", "SELECT l, r FROM best") == {}
