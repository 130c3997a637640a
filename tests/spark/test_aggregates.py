"""Aggregates over time windows on Spark: each row that comes in time is counted in its window, and late ones
are named."""

from __future__ import annotations

import signal
import subprocess
import threading
import time

import pyarrow as pa
import pytest

from dovetail.log.category import list_categories
from dovetail.service.figures import RunFigures
from dovetail.service.metrics import measured
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import ON, add, count, database, differences
from spark.command_line import command, environment
from spark.events import SECOND_US, START_US, events, write_files

ROWS = 1201
YEAR_US = 365 * 24 * 3600 * SECOND_US
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = 1);
    CREATE VIEW pairs AS SELECT l.eventtime AS t, l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '1 minute' %s;
    CREATE TABLE minutes AS SELECT window.start AS since, COUNT(*) AS n, COUNT(r) AS matched
        FROM pairs GROUP BY window(t, '1 minute') STORAGE PARQUET(path = "{here}/out");
"""


def steady(first: int, rows: int, every_us: int = SECOND_US) -> pa.Table:
    """One row for each key, in order, `every_us` apart."""
    times = pa.array([START_US + n * every_us for n in range(first, first + rows)], pa.int64())
    numbers = pa.array(range(first, first + rows))
    return pa.table({"eventtime": times.cast(pa.timestamp("us", "UTC")), "k": numbers, "id": numbers})


@pytest.mark.parametrize("options", ["", 'WITH (stream_time = "percentile")'])
def test_a_row_dated_a_year_ahead_takes_no_other_from_its_window(
    application: Application, options: str
) -> None:
    ahead = steady(ROWS, 1).set_column(
        0, "eventtime", pa.array([time.time_ns() // 1000 + YEAR_US]).cast(pa.timestamp("us", "UTC"))
    )
    left = pa.concat_tables([steady(0, 600), ahead, steady(600, ROWS - 601)])
    write_files(left, application.folder / "l", 6)
    write_files(steady(0, ROWS), application.folder / "r", 6)
    application.run(PQL % options)
    db = database(found=application.files("out"))
    counted = db.execute("SELECT sum(n)::INT, sum(matched)::INT FROM found").fetchall()[0]
    late = late_rows(application, "app.minutes.late")
    assert (counted[0] + late, late) == (ROWS - 1, 0)
    assert counted[1] == ROWS - 1
    aside = application.category("app.minutes.rows.invalid")
    assert aside["_reason"].to_pylist() == ["the time is too far ahead of the clock"]


def late_rows(application: Application, name: str) -> int:
    return application.category(name).num_rows if name in list_categories(application.home) else 0


SHAPES = """
    CREATE APPLICATION shapes;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE TABLE tumbling AS SELECT window.start AS since, window.end AS until, COUNT(DISTINCT k) AS keys,
        percentile(v, 0.5) AS middle, MIN(eventtime) AS first
        FROM l WHERE v > 100 GROUP BY window(eventtime, '10 minutes', '10 minutes', '3 minutes')
        HAVING COUNT(*) > 1 STORAGE SCRIBE(category = "tumbling", shard = since);
    CREATE TABLE hopping AS SELECT window(eventtime, '10 minutes', '4 minutes').start AS since, k % 3 AS kind,
        COUNT(*) AS n, SUM(v) AS total
        FROM l GROUP BY window(eventtime, '10 minutes', '4 minutes'), k % 3
        STORAGE SCRIBE(category = "hopping");
    CREATE TABLE sessions AS SELECT session_window.start AS since, session_window.end AS until,
        k % 50 AS kind, COUNT(*) AS n, array_sort(collect_list(id)) AS ids
        FROM l GROUP BY session_window(eventtime, '30 seconds'), 3 STORAGE SCRIBE(category = "sessions");
    CREATE TABLE growing AS SELECT window.start AS since, k % 3 AS kind, COUNT(*) AS n,
        COUNT(DISTINCT v) AS amounts, window_closed AS final
        FROM l GROUP BY window(eventtime, '30 minutes'), k % 3 HAVING COUNT(*) > 1
        WITH (early = INTERVAL '5 minutes') STORAGE SCRIBE(category = "growing");
"""
EXPECTED = {
    "tumbling": """SELECT time_bucket(INTERVAL 10 MINUTE, eventtime, TIMESTAMP '1970-01-01 00:03') AS since,
        since + INTERVAL 10 MINUTE, count(DISTINCT k), quantile_cont(v, 0.5), min(eventtime)
        FROM l WHERE v > 100 AND eventtime IS NOT NULL GROUP BY since HAVING count(*) > 1""",
    "hopping": """WITH w AS (SELECT *, unnest([0, 4, 8]) AS back FROM l WHERE eventtime IS NOT NULL),
        s AS (SELECT *, time_bucket(INTERVAL 4 MINUTE, eventtime, TIMESTAMP '1970-01-01') - to_minutes(back)
            AS since FROM w)
        SELECT since, k % 3 AS kind, count(*), sum(v) FROM s
        WHERE eventtime < since + INTERVAL 10 MINUTE GROUP BY since, kind""",
    "sessions": """WITH a AS (SELECT *, k % 50 AS kind FROM l WHERE eventtime IS NOT NULL),
        b AS (SELECT *, coalesce(eventtime >= lag(eventtime) OVER w + INTERVAL 30 SECOND, true)::INT AS begins
            FROM a WINDOW w AS (PARTITION BY kind ORDER BY eventtime)),
        c AS (SELECT *, sum(begins) OVER (PARTITION BY kind ORDER BY eventtime RANGE UNBOUNDED PRECEDING) AS s
            FROM b)
        SELECT min(eventtime), max(eventtime) + INTERVAL 30 SECOND, kind, count(*), list_sort(list(id))
        FROM c GROUP BY kind, s""",
}
GROWING = """SELECT time_bucket(INTERVAL 30 MINUTE, eventtime, TIMESTAMP '1970-01-01') AS since,
    k %% 3 AS kind, count(*), count(DISTINCT v) FROM l WHERE eventtime IS NOT NULL AND %s GROUP BY since, kind
    HAVING count(*) > 1"""


def test_after_a_drain_every_shape_equals_duckdb(application: Application) -> None:
    """Also over a stop in the middle, with windows before 1970, null times and null keys among the rows."""
    recent = events(6000, 2000, 91)
    ages_ago = events(3000, 2000, 92)
    moved = pa.array([None if t is None else t - 80 * YEAR_US for t in micros(ages_ago)], pa.int64())
    old = ages_ago.set_column(0, "eventtime", moved.cast(pa.timestamp("us", "UTC")))
    old = old.set_column(2, "id", pa.array(range(10_000, 13_000)))
    rows = pa.concat_tables([old, recent])
    write_files(rows.slice(0, 5000), application.folder / "l", 5)
    application.run(SHAPES, "available-now")
    early = {name: len(rows_of(application, name)) for name in EXPECTED}
    write_files(rows.slice(5000), application.folder / "l", 4, first=5)
    application.run(SHAPES)
    db = database(l=rows, **{name: rows_of(application, name) for name in EXPECTED})
    for name, expected in EXPECTED.items():
        assert 0 < early[name] < len(rows_of(application, name)), name
        columns = [column for column in rows_of(application, name).column_names if column != "_hash"]
        assert differences(db, f"SELECT {', '.join(columns)} FROM {name}", expected) == {}, name
    assert [name for name in list_categories(application.home) if name.endswith(".late")] == []

    # Early results are of the files up to one of the first five, and the final ones of all.
    add(db, "growing", rows_of(application, "growing"))
    shown = "SELECT since, kind, n, amounts FROM growing WHERE"
    assert differences(db, f"{shown} final", GROWING % "true") == {}
    assert count(db, f"{shown} NOT final") > 0
    arrived = "CASE WHEN id >= 10000 THEN id - 10000 ELSE id + 3000 END"
    upto = " UNION ALL ".join(f"({GROWING % f'{arrived} < {1000 * files}'})" for files in range(1, 6))
    assert count(db, f"({shown} NOT final) EXCEPT ({upto})") == 0


JOINED = """
    CREATE APPLICATION joined;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = 1);
    CREATE TABLE one AS SELECT window.start AS since, a.k %% 7 AS kind, COUNT(*) AS n, COUNT(b.id) AS matched,
        SUM(a.v - b.v) AS gap FROM l AS a LEFT JOIN r AS b ON %s WITH (max_delay = INTERVAL '1 day')
        WHERE a.v > 100 GROUP BY window(a.eventtime, '10 minutes'), kind HAVING MAX(a.v) > 200
        STORAGE SCRIBE(category = "one");
    CREATE VIEW same AS SELECT window.start AS since, COUNT(*) AS n, MIN(a.id) AS first, MAX(c.id) AS last
        FROM l AS a JOIN r AS b ON %s WITH (max_delay = INTERVAL '1 day')
        JOIN l AS c ON %s WITH (max_delay = INTERVAL '1 day') GROUP BY window(a.eventtime, '1 hour');
    CREATE TABLE chain AS SELECT since, n, first, last FROM same STORAGE SCRIBE(category = "chain");
"""
JOINED_EXPECTED = {
    "one": """SELECT time_bucket(INTERVAL 10 MINUTE, a.eventtime) AS since, a.k %% 7 AS kind, count(*),
        count(b.id), sum(a.v - b.v) FROM l AS a LEFT JOIN r AS b ON %s
        WHERE a.v > 100 AND a.eventtime IS NOT NULL GROUP BY since, kind HAVING max(a.v) > 200""",
    "chain": """SELECT time_bucket(INTERVAL 1 HOUR, a.eventtime) AS since, count(*), min(a.id), max(c.id)
        FROM l AS a JOIN r AS b ON %s JOIN l AS c ON %s GROUP BY since""",
}


def test_a_query_that_joins_and_aggregates_equals_duckdb(application: Application) -> None:
    """One join, and a chain in which a stream is joined with itself."""
    rows = {"l": events(3000, 400, 93), "r": events(3000, 400, 94)}
    for side, table in rows.items():
        write_files(table, application.folder / side, 4)
    first = ON.replace("l.", "a.").replace("r.", "b.")
    second = ON.replace("r.", "c.").replace("l.", "a.")
    application.run(JOINED % (first, first, second))
    db = database(**rows, **{name: rows_of(application, name) for name in JOINED_EXPECTED})
    one, chain = JOINED_EXPECTED["one"] % first, JOINED_EXPECTED["chain"] % (first, second)
    assert count(db, one) > 20
    assert differences(db, "SELECT since, kind, n, matched, gap FROM one", one) == {}
    assert differences(db, "SELECT since, n, first, last FROM chain", chain) == {}


def micros(rows: pa.Table) -> list[int | None]:
    return rows["eventtime"].cast(pa.int64()).to_pylist()


def rows_of(application: Application, name: str) -> pa.Table:
    return application.category(name)


def test_late_rows_are_counted_and_named(application: Application) -> None:
    pql = """
        CREATE APPLICATION late;
        CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT)
            FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
        CREATE TABLE minutes AS SELECT window.start AS since, COUNT(*) AS n, SUM(id) AS ids
            FROM l GROUP BY window(eventtime, '1 minute') STORAGE SCRIBE(category = "minutes");
    """
    write_files(steady(0, 600), application.folder / "l", 2)
    application.run(pql, "available-now")
    write_files(steady(0, 30), application.folder / "l", 1, first=2)
    application.run(pql, "available-now")
    assert sorted(application.category("minutes")["n"].to_pylist()) == [40, *[60] * 6]
    write_files(steady(600, 60), application.folder / "l", 1, first=3)
    application.run(pql)
    found = measured(application.home, "late").aggregates[0]
    assert (found.name, found.rows, found.late, found.results) == ("minutes", 690, 30, 12)
    late = application.category("late.minutes.late")
    assert sorted(late["id"].to_pylist()) == list(range(30))
    assert set(late["_reason"].to_pylist()) == {"its window had closed"}
    counted = application.category("minutes")
    assert sum(counted["n"].to_pylist()) == 660
    assert sum(counted["ids"].to_pylist()) == sum(range(660))


def test_a_live_aggregate_goes_on_after_a_stop(application: Application) -> None:
    """Windows come out while the join runs, and none twice."""
    left, right = steady(0, ROWS), steady(0, ROWS)
    for name, table in (("l", left), ("r", right)):
        write_files(table.slice(0, 900), application.folder / name, 6)
    stop, end_s = threading.Event(), time.monotonic() + 900

    def look(now: RunFigures) -> None:
        known = "app.minutes.windows" in list_categories(application.home)
        closed = application.category("app.minutes.windows").num_rows if known else 0
        if closed or time.monotonic() > end_s:
            stop.set()

    application.run(PQL % "", "stream", stop=stop, on_figures=look)
    early = application.category("app.minutes.windows").num_rows
    assert early > 0
    for name, table in (("l", left), ("r", right)):
        write_files(table.slice(900), application.folder / name, 1, first=6)
    application.run(PQL % "")
    db = database(l=left, found=application.files("out"))
    expected = "SELECT time_bucket(INTERVAL 1 MINUTE, eventtime) AS t, count(*), count(*) FROM l GROUP BY t"
    assert differences(db, "FROM found", expected) == {}
    assert early < len(db.execute("FROM found").fetchall())


COUNTS = """
    CREATE APPLICATION counts;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE TABLE minutes AS SELECT window.start AS since, COUNT(*) AS n, SUM(id) AS ids
        FROM l GROUP BY window(eventtime, '1 minute') STORAGE SCRIBE(category = "minutes");
"""


POINTS = ["sink.written:3", "sink.committed:3", "windows.named:1"]


@pytest.mark.parametrize("point", POINTS if THOROUGH else POINTS[1:2])
def test_killed_in_the_middle_of_a_step(application: Application, point: str) -> None:
    """The first two micro-batches are the slicer's, the third is the aggregate's."""
    rows = pa.concat_tables([steady(0, 600), steady(0, 30)])
    write_files(rows.slice(0, 600), application.folder / "l", 1)
    write_files(rows.slice(600), application.folder / "l", 1, first=1)
    (application.folder / "app.pql").write_text(COUNTS.replace("{here}", str(application.folder)))
    killed = subprocess.run(
        command("run", "app.pql", "--home", application.home, "--master", "local[2]", "--available-now"),
        cwd=application.folder,
        env=environment() | {"DOVETAIL_CRASH": point},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert killed.returncode == (-signal.SIGKILL if point.startswith("sink") else 1), killed.stderr
    application.run(COUNTS)
    counted = application.category("minutes")
    late = application.category("counts.minutes.late")
    assert sorted(late["id"].to_pylist()) == list(range(30))
    assert sum(counted["n"].to_pylist()) == 600
    assert sum(counted["ids"].to_pylist()) == sum(range(600))
    assert len(set(counted["since"].to_pylist())) == counted.num_rows == 11
