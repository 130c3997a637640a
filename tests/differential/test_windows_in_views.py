"""Aggregates in views, joins and aggregates over them, ranks and distinct rows within windows: as DuckDB
answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from differential.local_duckdb import run
from differential.test_random_queries import counted, write_streams

INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, s STRING, x INT, d DOUBLE, id BIGINT)
    FROM FILES("{here}/a", format = "parquet");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, s STRING, x INT, d DOUBLE, id BIGINT)
    FROM FILES("{here}/b", format = "parquet");
"""
MINUTE = "time_bucket(INTERVAL 1 MINUTE, t, TIMESTAMPTZ '1970-01-01 00:00:00+00')"
CASES = {
    "counted within a window": (
        "CREATE TABLE o AS SELECT window.start AS since, k, COUNT(DISTINCT s) AS n, MAX(x) AS x FROM a "
        "GROUP BY window(t, '1 minute'), k HAVING COUNT(*) > 1 STORAGE NOOP;",
        f"SELECT {MINUTE} AS since, k, COUNT(DISTINCT s) AS n, MAX(x) AS x FROM a GROUP BY 1, 2 "
        "HAVING COUNT(*) > 1",
    ),
    "a view that aggregates, joined": (
        "CREATE VIEW minutes AS SELECT window.end AS until, k, COUNT(*) AS n FROM a "
        "GROUP BY window(t, '1 minute'), k;"
        "CREATE TABLE o AS SELECT b.id AS id, m.until AS until, m.n AS n FROM b LEFT JOIN minutes AS m "
        "ON b.k = m.k AND b.t BETWEEN m.until AND m.until + INTERVAL '1 minute' STORAGE NOOP;",
        f"SELECT b.id, m.until, m.n FROM b LEFT JOIN (SELECT {MINUTE} + INTERVAL 1 MINUTE AS until, k, "
        "COUNT(*) AS n FROM a GROUP BY 1, 2) AS m ON b.k = m.k "
        "AND b.t BETWEEN m.until AND m.until + INTERVAL '1 minute'",
    ),
    "an aggregate over an aggregate": (
        "CREATE VIEW minutes AS SELECT window.start AS since, k, COUNT(*) AS n FROM a "
        "GROUP BY window(t, '1 minute'), k;"
        "CREATE TABLE o AS SELECT window.start AS since, MAX(n) AS n, COUNT(k) AS keys FROM minutes "
        "GROUP BY window(since, '5 minutes') STORAGE NOOP;",
        f"SELECT time_bucket(INTERVAL 5 MINUTE, since, TIMESTAMPTZ '1970-01-01 00:00:00+00') AS since, "
        f"MAX(n) AS n, COUNT(k) AS keys FROM (SELECT {MINUTE} AS since, k, COUNT(*) AS n FROM a "
        "GROUP BY 1, 2) GROUP BY 1",
    ),
    "distinct within a window": (
        "CREATE TABLE o AS SELECT DISTINCT k, s, window(t, '1 minute').start AS since FROM a WHERE x > 0 "
        "STORAGE NOOP;",
        f"SELECT DISTINCT k, s, {MINUTE} AS since FROM a WHERE x > 0",
    ),
    "distinct within a window that is not shown": (
        "CREATE TABLE o AS SELECT DISTINCT k, date_trunc('hour', window(t, '1 minute').start) AS hour FROM a "
        "STORAGE NOOP;",
        f"SELECT k, date_trunc('hour', m) FROM (SELECT DISTINCT k, {MINUTE} AS m FROM a)",
    ),
    "the largest two of each window": (
        "CREATE TABLE o AS SELECT window.end AS until, id, x FROM a "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY window(t, '1 minute') ORDER BY x DESC NULLS LAST, id) <= 2 "
        "STORAGE NOOP;",
        f"SELECT {MINUTE} + INTERVAL 1 MINUTE AS until, id, x FROM a QUALIFY ROW_NUMBER() OVER "
        f"(PARTITION BY {MINUTE} ORDER BY x DESC NULLS LAST, id) <= 2",
    ),
    "the most frequent key of each window": (
        "CREATE VIEW top AS SELECT window.start AS since, k, COUNT(*) AS n FROM a "
        "GROUP BY window(t, '1 minute'), k "
        "QUALIFY RANK() OVER (PARTITION BY window ORDER BY COUNT(*) DESC) = 1;"
        "CREATE TABLE o AS SELECT * FROM top WHERE n > 1 STORAGE NOOP;",
        f"SELECT {MINUTE} AS since, k, COUNT(*) AS n FROM a GROUP BY 1, 2 QUALIFY RANK() OVER "
        f"(PARTITION BY {MINUTE} ORDER BY COUNT(*) DESC) = 1 AND n > 1",
    ),
    "one row for each key, the first": (
        "CREATE TABLE o AS SELECT DISTINCT ON (window(t, '1 minute'), k) t, k, id FROM a STORAGE NOOP;",
        f"SELECT t, k, id FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY {MINUTE}, k ORDER BY t) = 1",
    ),
    "a rank beside each row": (
        "CREATE TABLE o AS "
        "SELECT id, RANK() OVER (PARTITION BY window(t, '1 minute') ORDER BY d, id) AS rank, "
        "SUM(id) OVER (PARTITION BY window(t, '1 minute'), k) AS ids FROM a STORAGE NOOP;",
        f"SELECT id, RANK() OVER (PARTITION BY {MINUTE} ORDER BY d NULLS FIRST, id) AS rank, "
        f"SUM(id) OVER (PARTITION BY {MINUTE}, k)::BIGINT AS ids FROM a",
    ),
    "hopping windows in a view": (
        "CREATE VIEW hops AS SELECT window.start AS since, COUNT(*) AS n FROM a "
        "GROUP BY window(t, '1 minute', '30 seconds');"
        "CREATE TABLE o AS SELECT since, n FROM hops STORAGE NOOP;",
        "SELECT since, COUNT(*) FROM (SELECT time_bucket(INTERVAL 30 SECOND, t, TIMESTAMPTZ "
        "'1970-01-01 00:00:00+00') - INTERVAL 1 SECOND * unnest([0, 30]) AS since FROM a) GROUP BY 1",
    ),
}


def answer(sql: str, tables: dict[str, pa.Table]) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            db.register(name, table)
        return Counter(db.execute(sql).fetchall())


@pytest.mark.parametrize("case", CASES)
def test_is_what_duckdb_answers(case: str, tmp_path: Path) -> None:
    pql, sql = CASES[case]
    tables = write_streams(tmp_path, files=4)
    (found,) = run(INPUTS.format(here=tmp_path) + pql, live=True).values()
    expected = answer(sql, tables)
    assert expected
    assert counted(found) == expected


def test_windows_before_1970_close(tmp_path: Path) -> None:
    """Times on both sides of zero, in windows whose bounds are negative, and one over zero itself."""
    tables = write_streams(tmp_path, files=4)
    shift = 1_700_000_000 + 300
    for file in sorted((tmp_path / "a").iterdir()):
        rows = pq.read_table(file)
        times = pc.subtract(rows["t"].cast(pa.int64()), shift * 1_000_000).cast(rows["t"].type)
        pq.write_table(rows.set_column(0, "t", times), file)
    pql = CASES["counted within a window"][0].replace("'1 minute'", "'7 minutes', '7 minutes', '1 minute'")
    (found,) = run(INPUTS.format(here=tmp_path) + pql, live=True).values()
    bucket = MINUTE.replace("1 MINUTE", "7 MINUTE").replace("00:00:00", "00:01:00")
    sql = CASES["counted within a window"][1].replace(MINUTE, bucket)
    tables["a"] = pq.read_table(tmp_path / "a")
    expected = answer(sql, tables)
    assert {row[0].year for row in expected} == {1969, 1970}
    assert counted(found) == expected


def test_early_results_lead_to_the_final_ones(tmp_path: Path) -> None:
    tables = write_streams(tmp_path, files=30)
    pql = (
        "CREATE TABLE o AS SELECT window.start AS since, k, COUNT(*) AS n, window_closed AS closed FROM a "
        "GROUP BY window(t, '2 minutes'), k WITH (early = INTERVAL '20 seconds', max_delay = INTERVAL "
        "'1 second') STORAGE NOOP;"
    )
    (found,) = run(INPUTS.format(here=tmp_path) + pql, live=True).values()
    rows = [tuple(row.values()) for row in found.to_pylist()]
    bucket = MINUTE.replace("1 MINUTE", "2 MINUTE")
    final = answer(f"SELECT {bucket}, k, COUNT(*), true FROM a GROUP BY 1, 2", tables)
    assert Counter(row for row in rows if row[3]) == final
    counts = {(since, key): n for since, key, n, _ in final}
    seen: dict[tuple[object, object], int] = {}
    for since, key, n, closed in rows:
        assert seen.get((since, key), 0) <= n <= counts[since, key]
        seen[since, key] = n if not closed else counts[since, key] + 1  # nothing comes after it
    assert len([row for row in rows if not row[3]]) > 20
