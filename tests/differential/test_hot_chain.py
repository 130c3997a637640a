"""A key with half of all rows is split over the tasks in the middle of a chain; the result stays DuckDB's."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.local.graph import Graph
from dovetail.pql.compile import compile_pql

ROWS = 24_000
PQL = """
    CREATE APPLICATION hot;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/a", format = "parquet");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/b", format = "parquet");
    CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/c", format = "parquet");
    CREATE VIEW v AS SELECT a.id AS a, b.id AS b, c.id AS c FROM a
        LEFT JOIN b ON b.k = a.k AND b.t BETWEEN a.t AND a.t + INTERVAL '1 second'
        LEFT JOIN c ON c.k = a.k AND c.t BETWEEN a.t - INTERVAL '1 second' AND a.t;
    CREATE TABLE out AS SELECT a, b, c FROM v STORAGE NOOP;
"""
SQL = """
    SELECT a.id AS a, b.id AS b, c.id AS c FROM a
        LEFT JOIN b ON b.k = a.k AND b.t BETWEEN a.t AND a.t + INTERVAL 1 SECOND
        LEFT JOIN c ON c.k = a.k AND c.t BETWEEN a.t - INTERVAL 1 SECOND AND a.t
"""


def stream(seed: int) -> pa.Table:
    """Some rows per second; every other one has the same key."""
    rng = np.random.default_rng(seed)
    times = 1_767_225_600_000_000 + np.sort(rng.integers(0, 10_000_000_000, ROWS))
    keys = np.where(rng.random(ROWS) < 0.5, 7, rng.integers(0, 2_000, ROWS))
    return pa.table({"t": pa.array(times).cast(pa.timestamp("us", "UTC")), "k": keys, "id": np.arange(ROWS)})


def test_a_hot_key_is_split_in_the_middle_of_a_chain(tmp_path: Path) -> None:
    tables = {name: stream(seed) for seed, name in enumerate("abc")}
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        for part in range(4):
            rows = table.slice(part * ROWS // 4, ROWS // 4)
            pq.write_table(rows, tmp_path / name / f"{part}.parquet")
    plan = compile_pql(PQL.format(here=tmp_path))
    graph = Graph(plan, str(tmp_path), str(tmp_path / "work"), tasks=2)
    while [runner for runner in graph.runners.values() if runner.step()]:
        pass  # live: no stage waits until another is done
    graph.drain()
    upper = graph.journals[plan.joins[-1].name]
    assert any(end.hot_keys for end in upper.ends), "no key was split in the second join"
    found = pa.concat_tables(list(upper.rows.values()))
    with duckdb.connect() as db:
        for name, table in tables.items():
            db.register(name, table)
        db.register("found", found)
        for one, other in (("FROM found", SQL), (SQL, "FROM found")):
            assert db.execute(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchone() == (0,)
    assert found.num_rows > ROWS
