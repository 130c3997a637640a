"""What Spark computes of PQL's own forms is what DuckDB computes: ranked and distinct rows of windows,
USING, CTEs and subqueries as inputs of joins, keys of other types by a CAST, and times as another
zone sees them, over the hour that the zone has twice.

One application has them all, because starting one costs more than the rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pyarrow as pa

from spark.application import Application
from spark.batch import database, differences
from spark.events import SECOND_US, START_US, events, write_files

CHANGE_US = 1_698_541_200 * SECOND_US
"""2023-10-29 01:00 in UTC: clocks in Berlin are put back from 3 to 2."""
FILES = 4
HOUR_US = 3600 * SECOND_US
ROWS = 1600
PQL = """
    CREATE APPLICATION forms;
    SET TIME ZONE 'Europe/Berlin';
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE r FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE named (eventtime TIMESTAMP, name STRING, id BIGINT)
        FROM FILES("{here}/named", format = "json");
    CREATE TABLE top AS
        SELECT window.start AS since, k % 5 AS kind, COUNT(*) AS n, SUM(v) AS total
        FROM l GROUP BY window(eventtime, '10 minutes'), k % 5
        QUALIFY ROW_NUMBER() OVER (PARTITION BY window ORDER BY total DESC, kind) <= 2
        STORAGE SCRIBE(category = "top");
    CREATE TABLE newest AS
        SELECT DISTINCT ON (window(eventtime, '5 minutes'), k % 7) k % 7 AS kind, id, eventtime
        FROM l ORDER BY eventtime DESC, id
        STORAGE SCRIBE(category = "newest");
    CREATE VIEW using_join AS
        WITH wanted AS (SELECT eventtime, k, id AS rid, v AS rv FROM r WHERE v % 2 = 0)
        SELECT k, l.id AS l, wanted.rid AS r, l.v + wanted.rv AS sum
        FROM l FULL JOIN wanted USING (k) WITHIN TUMBLING '5 minutes' OF l.eventtime, wanted.eventtime;
    CREATE TABLE used AS SELECT * FROM using_join STORAGE SCRIBE(category = "used");
    CREATE VIEW cast_join AS
        SELECT l.id AS l, n.id AS n, n.eventtime AS at
        FROM l LEFT JOIN (SELECT eventtime, name, id FROM named WHERE id % 10 <> 3) AS n
        ON CAST(l.k AS STRING) = n.name AND
            n.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '1 minute';
    CREATE TABLE casts AS SELECT * FROM cast_join STORAGE SCRIBE(category = "casts");
    CREATE TABLE zoned AS
        SELECT id, hour(eventtime) AS hour, date_format(eventtime, 'yyyy-MM-dd HH:mm:ss') AS text,
            date_trunc('DAY', eventtime) AS day, CAST(eventtime AS DATE) AS date,
            date_trunc('HOUR', eventtime) AS since
        FROM l WHERE eventtime >= TIMESTAMP '2023-10-28 23:50:00'
        STORAGE SCRIBE(category = "zoned");
"""
BERLIN = (
    f"(eventtime + CASE WHEN epoch_us(eventtime) < {CHANGE_US} THEN INTERVAL 2 HOUR ELSE INTERVAL 1 HOUR END)"
)


def bucket(minutes: int, time: str = "eventtime") -> str:
    return f"time_bucket(INTERVAL {minutes} MINUTE, {time}, TIMESTAMP '1970-01-01')"


BOTH = "BETWEEN l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 1 MINUTE"
EXPECTED = {
    "top": f"""SELECT {bucket(10)} AS since, k % 5 AS kind, count(*) AS n, sum(v) AS total FROM dated
        GROUP BY since, kind QUALIFY row_number() OVER (PARTITION BY since ORDER BY total DESC, kind) <= 2""",
    "newest": f"""SELECT DISTINCT ON ({bucket(5)}, kind) k % 7 AS kind, id, eventtime FROM dated
        ORDER BY {bucket(5)}, kind, eventtime DESC, id""",
    "used": f"""SELECT coalesce(l.k, r.k), l.id, r.id, l.v + r.v FROM l FULL JOIN
        (FROM r WHERE v % 2 = 0) AS r ON l.k = r.k AND {bucket(5, "l.eventtime")} =
        {bucket(5, "r.eventtime")}""",
    "casts": f"""SELECT l.id, n.id, n.eventtime FROM l LEFT JOIN (FROM named WHERE id % 10 <> 3) AS n
        ON l.k::VARCHAR = n.name AND n.eventtime {BOTH}""",
    "zoned": f"""SELECT id, hour({BERLIN}), strftime({BERLIN}, '%Y-%m-%d %H:%M:%S'),
        date_trunc('day', {BERLIN}) - INTERVAL 2 HOUR, {BERLIN}::DATE,
        date_trunc('hour', eventtime) FROM l
        WHERE eventtime >= TIMESTAMP '2023-10-28 21:50:00'""",
}


def moved(rows: pa.Table) -> pa.Table:
    """The same, until half an hour after the clocks were put back."""
    times = rows["eventtime"].cast(pa.int64()).to_pylist()
    since_us = CHANGE_US - 4 * HOUR_US + HOUR_US // 2 - START_US
    there = pa.array([None if time is None else time + since_us for time in times], pa.int64())
    return rows.set_column(0, "eventtime", there.cast(pa.timestamp("us", "UTC")))


def as_json(rows: pa.Table) -> str:
    """Times before the change as a clock in Berlin shows them, later ones with their offset."""
    lines = []
    for row in rows.to_pylist():
        time = row["eventtime"]
        if time is not None and time < datetime.fromtimestamp(CHANGE_US / 1e6 - 3600, UTC):
            written = time.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None).isoformat()
        else:
            written = None if time is None else time.isoformat()
        lines.append(json.dumps({"eventtime": written, "name": row["name"], "id": row["id"]}))
    return "\n".join(lines)


def test_every_form_equals_duckdb(application: Application) -> None:
    left, right, named = (moved(events(ROWS, 40, seed, hours=4)) for seed in (61, 62, 63))
    named = named.append_column("name", named["k"].cast(pa.string())).select(["eventtime", "name", "id"])
    write_files(left, application.folder / "l", FILES)
    write_files(right, application.folder / "r", FILES)
    (application.folder / "named").mkdir()
    (application.folder / "named" / "0.json").write_text(as_json(named))
    application.run(PQL)

    found = {name: application.category(name) for name in EXPECTED}
    db = database(l=left, r=right, named=named, **{f"{name}_found": rows for name, rows in found.items()})
    db.execute("CREATE VIEW dated AS FROM l WHERE eventtime IS NOT NULL")
    for name, expected in EXPECTED.items():
        columns = ", ".join(f'"{column}"' for column in found[name].column_names if column != "_hash")
        assert found[name].num_rows > 20, name
        assert differences(db, f"SELECT {columns} FROM {name}_found", expected) == {}, name
