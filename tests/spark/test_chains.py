"""Joins over joins, several tables over one join, views with filters and expressions, and aggregation over
time windows: after a drain all equal what DuckDB makes of the finished inputs."""

from __future__ import annotations

from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS = 10_000
PQL = """
    CREATE APPLICATION chains;
    CREATE INPUT TABLE l (eventtime, k, id, v)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE r (eventtime, k, id, v)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE x (eventtime, k, id, v)
        FROM FILES("{here}/x", format = "parquet", maxFilesPerTrigger = 1);

    CREATE VIEW pairs AS SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r, coalesce(r.v, -l.v) AS v
        FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE VIEW wanted AS SELECT t, k, l, r, v * 2 AS twice, upper(concat('k', k)) AS name
        FROM pairs WHERE v % 3 <> 0 AND (r IS NULL OR r % 2 = 0);
    CREATE VIEW chained AS SELECT w.l AS l, w.r AS r, w.name AS name, x.id AS x, w.twice + x.v AS total
        FROM wanted AS w JOIN x ON w.k = x.k
        AND x.eventtime BETWEEN w.t - INTERVAL '1 minute' AND w.t + INTERVAL '1 minute';

    CREATE TABLE all_pairs AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/pairs");
    CREATE TABLE wanted_pairs AS SELECT * FROM wanted STORAGE SCRIBE(category = "wanted");
    CREATE TABLE chains AS SELECT * FROM chained STORAGE SCRIBE(category = "chained");
    CREATE TABLE by_quarter AS
        SELECT window(t, '15 minutes').start AS start, k, count(*) AS n, count(r) AS matched, sum(v) AS total
        FROM pairs GROUP BY window(t, '15 minutes'), k
        STORAGE PARQUET(path = "{here}/quarters");
"""
DEFINITIONS = """
    CREATE VIEW pairs AS SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r, coalesce(r.v, -l.v) AS v
        FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 3 MINUTE;
    CREATE VIEW wanted AS SELECT t, k, l, r, v * 2 AS twice, upper('k' || k) AS name
        FROM pairs WHERE v % 3 <> 0 AND (r IS NULL OR r % 2 = 0);
    CREATE VIEW chained AS SELECT w.l, w.r, w.name, x.id, w.twice + x.v
        FROM wanted w JOIN x ON w.k = x.k
        AND x.eventtime BETWEEN w.t - INTERVAL 1 MINUTE AND w.t + INTERVAL 1 MINUTE;
    CREATE VIEW by_quarter AS
        SELECT time_bucket(INTERVAL 15 MINUTE, t) AS start, k, count(*), count(r), sum(v)
        FROM pairs WHERE t IS NOT NULL GROUP BY start, k;
"""


def test_chains_equal_duckdb(application: Application) -> None:
    tables = {name: events(ROWS, 400, seed) for name, seed in (("l", 21), ("r", 22), ("x", 23))}
    for name, table in tables.items():
        write_files(table, application.folder / name, 3)
    application.run(PQL)
    db = database(
        **tables,
        found_pairs=application.files("pairs"),
        found_wanted=application.category("wanted"),
        found_chained=application.category("chained"),
        found_by_quarter=application.files("quarters"),
    )
    db.execute(DEFINITIONS)
    for name in ("pairs", "wanted", "chained", "by_quarter"):
        assert count(db, f"FROM {name}") > ROWS / 10, name
        assert differences(db, f"FROM found_{name}", f"FROM {name}") == {}, name
