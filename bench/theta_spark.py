"""A theta join end to end on Spark, as PQL: files, slicers, log, join and a sink that writes nothing.

Points within a distance of each other, by scan: a condition that has no band. The windows hold all rows, so
that all pairs count; the first run of each number of tasks only warms up, with a small part of the rows.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.service.cli.run import run_application
from dovetail.spark.session import open_session

DOMAIN, NEAR = 10_000.0, 10.0
FILES = 10
WARM_UP_ROWS = 20_000
_QUERY = """\
CREATE APPLICATION bench_theta;

CREATE INPUT TABLE lefts (eventtime TIMESTAMP, x DOUBLE, y DOUBLE, id BIGINT)
FROM FILES("{lefts}", format = "parquet");

CREATE INPUT TABLE rights (eventtime TIMESTAMP, x DOUBLE, y DOUBLE, id BIGINT)
FROM FILES("{rights}", format = "parquet");

CREATE VIEW near AS
SELECT l.id AS left_id, r.id AS right_id
FROM lefts AS l JOIN rights AS r
  ON (l.x - r.x) * (l.x - r.x) + (l.y - r.y) * (l.y - r.y) <= {near}
  WITH (window = ROWS {window}, tasks = {tasks});

CREATE TABLE results AS SELECT left_id, right_id FROM near STORAGE NOOP;
"""


def measure(rows: int, repeat: int, seed: int) -> dict[str, Any]:
    """The same figures as of the other paths. CPU time is left out, because it would include the JVM's."""
    spent: dict[int, list[float]] = {1: [], 2: []}
    found: set[int] = set()
    spark = open_session("bench_theta", "local[2]", "4g", {})
    with ExitStack() as stack:
        stack.callback(spark.stop)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        small, large = Path(folder) / "small", Path(folder) / "large"
        _write(small, WARM_UP_ROWS, seed)
        _write(large, rows, seed)
        for tasks in spent:
            _run(spark, small, WARM_UP_ROWS, tasks, Path(folder) / f"warm-up-{tasks}")
        for turn in range(repeat):
            for tasks, seconds in spent.items():
                took_s, pairs = _run(spark, large, rows, tasks, Path(folder) / f"{turn}-{tasks}")
                seconds.append(took_s)
                found.add(pairs)
        expected = _reference(large)
    rates = {str(tasks): 2 * rows / median(seconds) for tasks, seconds in spent.items()}
    return {
        "path": "spark",
        "rows": rows,
        "pairs": expected,
        "seconds": {str(tasks): seconds for tasks, seconds in spent.items()},
        "rows_per_s": rates,
        "ratio": rates["2"] / rates["1"],
        "right": found == {expected},
    }


def _write(folder: Path, rows: int, seed: int) -> None:
    for number, side in enumerate(("lefts", "rights")):
        (folder / side).mkdir(parents=True)
        rng = np.random.default_rng([seed, number])
        table = pa.table(
            {
                "eventtime": pa.array(np.arange(rows) * 1000, pa.timestamp("us", "UTC")),
                "x": rng.random(rows) * DOMAIN,
                "y": rng.random(rows) * DOMAIN,
                "id": np.arange(rows),
            }
        )
        for part, start in enumerate(range(0, rows, -(-rows // FILES))):
            pq.write_table(table.slice(start, -(-rows // FILES)), folder / side / f"{part:03}.parquet")


def _run(spark: Any, data: Path, rows: int, tasks: int, work: Path) -> tuple[float, int]:
    work.mkdir()
    query = work / "bench_theta.pql"
    query.write_text(
        _QUERY.format(
            lefts=data / "lefts", rights=data / "rights", near=NEAR * NEAR, window=rows, tasks=tasks
        )
    )
    began = time.perf_counter()
    summary = run_application(
        query,
        home=str(work / "home"),
        master="local[2]",
        mode="drain",
        settings={},
        on_figures=lambda now: None,
        spark=spark,
    )
    return time.perf_counter() - began, summary.joins[0].matches


def _reference(data: Path) -> int:
    """How many pairs DuckDB finds, which needs an equality to be quick: squares of the plane, in each of
    which, and in those around it, a left row looks."""
    square = f"CAST(x // {NEAR} AS INT) AS at_x, CAST(y // {NEAR} AS INT) AS at_y"
    around = "unnest([at_x - 1, at_x, at_x + 1]) AS at_x"
    sql = f"""WITH l AS (SELECT x, y, {square} FROM '{data}/lefts/*.parquet'),
            r AS (SELECT x, y, {square} FROM '{data}/rights/*.parquet'),
            wide AS (SELECT x, y, at_y, {around} FROM l),
            around AS (SELECT x, y, at_x, unnest([at_y - 1, at_y, at_y + 1]) AS at_y FROM wide)
        SELECT count(*) FROM around JOIN r USING (at_x, at_y)
        WHERE (around.x - r.x) * (around.x - r.x) + (around.y - r.y) * (around.y - r.y) <= {NEAR * NEAR}"""
    with duckdb.connect() as database:
        return int(database.execute(sql).fetchall()[0][0])
