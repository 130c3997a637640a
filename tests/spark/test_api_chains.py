"""`dovetail.join` over a DataFrame that is itself a `dovetail.join`: the second inherits the time of the
first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import dovetail
from dovetail.log.category import Category
from dovetail.plan.application_file import read_application
from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files
from spark.test_api import stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 3_000
TIMES = {"left_time": "eventtime", "right_time": "eventtime"}
BATCH = """
    SELECT p.l, p.r, x.id AS x FROM (
        SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL 5 MINUTE) p
    LEFT JOIN x ON p.k = x.k AND x.eventtime BETWEEN p.t - INTERVAL 1 MINUTE AND p.t + INTERVAL 1 MINUTE
"""


def test_a_chain_of_dataframes(application: Application) -> None:
    tables = {name: events(ROWS, 200, seed) for name, seed in (("l", 51), ("r", 52), ("x", 53))}
    streams: dict[str, DataFrame] = {}
    for name, table in tables.items():
        write_files(table, application.folder / name, 4)
        streams[name] = stream(application.spark, application.folder / name)
    given = {"home": application.home, "how": "left", "mode": "drain", "buckets": 4}
    first = dovetail.join(
        streams["l"], streams["r"], "k", before="0 seconds", after="5 minutes", name="first", **TIMES, **given
    )
    renamed = first.select("k", first.eventtime.alias("t"), first.id.alias("l"), first.id_right.alias("r"))
    second = dovetail.join(
        renamed.where("k IS NOT NULL OR l >= 0"),
        streams["x"].drop("v"),
        "k",
        left_time="t",
        right_time="eventtime",
        before="1 minute",
        after="1 minute",
        name="second",
        **given,
    )
    query = second.writeStream.format("memory").queryName("chained")
    query = query.option("checkpointLocation", f"{application.folder}/checkpoint")
    query.trigger(availableNow=True).start().awaitTermination()

    settings = read_application(application.home, "second").joins[0].settings
    assert (settings.left_inherits, settings.right_inherits) == (True, False)
    side = Category.open(application.home, "second.left")
    said = [side.commit(n).promised("_time") for n in range(side.first_commit(), side.next_commit())]
    assert None not in said, "a commit of the inherited side promises nothing"
    found = application.spark.table("chained").select("l", "r", "id").toArrow()
    db = database(**tables, found=found)
    assert count(db, "FROM found WHERE r IS NULL AND id IS NOT NULL") > ROWS / 50
    assert differences(db, "FROM found", BATCH) == {}
    marks = [json.loads(field.metadata["dovetail.time"]) for field in first.schema if field.metadata]
    assert [mark["side"] for mark in marks] == ["left", "right"]
    computed = first.selectExpr("k", "eventtime + INTERVAL 1 SECOND AS t")
    assert not computed.schema["t"].metadata, "a computed time would be taken for the join's"
