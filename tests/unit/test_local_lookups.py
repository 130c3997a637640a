"""Lookup joins in one process, alone and between joins of streams, beside DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail.local
from dovetail.errors import InputError
from dovetail.log.category import Category
from dovetail.slicing.write_rows import bucket_of, time_of
from spark.events import events

QUERY = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("l");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("r");
    CREATE LOOKUP TABLE prices (k BIGINT, price DOUBLE, since TIMESTAMP)
        FROM PARQUET("{here}/prices.parquet", valid_from = since, max_bytes = {most});
    CREATE LOOKUP TABLE names (code BIGINT, name STRING) FROM DUCKDB("{here}/names.db", table = "names");
    CREATE TABLE out AS SELECT l.id AS l, r.id AS r, p.price AS price, n.name AS name
        FROM l JOIN TABLE names AS n ON l.k = n.code
        LEFT JOIN r ON l.k = r.k AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '3 minutes'
        LEFT JOIN TABLE prices FOR SYSTEM_TIME AS OF r.eventtime AS p ON l.k = p.k
        STORAGE NOOP;
"""
L, R = events(600, 40, 1), events(600, 40, 2)


def write(home: Path, name: str, rows: pa.Table) -> None:
    rows = rows.select(["eventtime", "k", "id"])
    category = Category.create(str(home), name, rows.schema, buckets=1)
    for start in range(0, rows.num_rows, 100):
        batches = rows.slice(start, 100).combine_chunks().to_batches()
        category.append(category.write_segments(batches, bucket_of(None, 1), time_of("eventtime")))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write(tmp_path, "l", L)
    write(tmp_path, "r", R)
    rng = np.random.default_rng(3)
    low = int(L["eventtime"].cast(pa.int64()).drop_null()[0].as_py())
    since = pa.array(low + rng.permutation(3_600)[:200] * 1_000_000).cast(pa.timestamp("us", "UTC"))
    prices = pa.table({"k": rng.integers(0, 30, 200), "price": rng.random(200), "since": since})
    pq.write_table(prices, tmp_path / "prices.parquet")
    with duckdb.connect(tmp_path / "names.db") as db:
        db.execute("CREATE TABLE names AS SELECT i % 25 AS code, 'name ' || i AS name FROM range(30) t(i)")
    return tmp_path


def test_lookups_before_and_after_a_join(home: Path) -> None:
    (found,) = dovetail.local.run(QUERY.format(here=home, most=1 << 20), home).values()
    with duckdb.connect(str(home / "names.db"), read_only=True) as db:
        db.register("l", L)
        db.register("r", R)
        db.register("found", found)
        db.execute(f"CREATE TEMP VIEW p AS FROM read_parquet('{home}/prices.parquet')")
        expected = """
            SELECT x.l, x.r, p.price, x.name FROM (
                SELECT l.id AS l, r.id AS r, l.k AS k, r.eventtime AS t, n.name AS name
                FROM l JOIN names n ON l.k = n.code
                LEFT JOIN r ON l.k = r.k
                    AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '3 minutes'
            ) x ASOF LEFT JOIN p ON x.k = p.k AND x.t >= p.since"""
        more = db.execute(f"SELECT l, r, price, name FROM found EXCEPT ALL ({expected})").fetchall()
        less = db.execute(f"({expected}) EXCEPT ALL SELECT l, r, price, name FROM found").fetchall()
    assert (more, less) == ([], [])
    assert found["price"].null_count < found.num_rows - 100


def test_a_table_above_its_limit(home: Path) -> None:
    with pytest.raises(InputError, match="lookup table prices takes more than"):
        dovetail.local.run(QUERY.format(here=home, most=1000), home)
