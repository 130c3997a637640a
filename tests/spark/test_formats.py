"""Every kind of input and output: what can be read is joined, what cannot is counted and kept aside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.log.category import Category
from dovetail.service.committed_files import committed_files
from spark.application import Application
from spark.batch import add, count, database, differences
from spark.events import START_US, events

ROWS = 2000
BAD_JSON = [
    '{"eventtime": "2023-11-14T22:13:20Z", "k": 1',
    "no json at all",
    '{"eventtime": "noon", "k": 2, "id": 3}',
]
BAD_CSV = ["2023-11-14T22:13:20Z,seven,1", "2023-11-14T22:13:20Z,7", "yesterday,7,1"]
TEXT_PQL = """
    CREATE APPLICATION texts;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/l", format = "json");
    CREATE INPUT TABLE r (id BIGINT, k INT, eventtime TIMESTAMP) FROM FILES("{here}/r", format = "csv");
    CREATE VIEW pairs AS SELECT l.eventtime AS t, l.k AS k, l.id AS l, r.id AS r
        FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE as_json AS SELECT * FROM pairs STORAGE JSON(path = "{here}/json");
    CREATE TABLE sharded AS SELECT l, r FROM pairs
        STORAGE SCRIBE(category = "sharded", shard = l, buckets = 8);
    CREATE TABLE nowhere AS SELECT l FROM pairs STORAGE NOOP;
    CREATE TABLE read_again AS SELECT id + 1 AS next FROM l STORAGE NOOP;
    CREATE TABLE shown AS SELECT l, r FROM pairs WHERE l = 7 STORAGE CONSOLE;
"""


def text_lines(table: pa.Table, form: str) -> list[str]:
    rows = [{**row, "eventtime": row["eventtime"].isoformat()} for row in table.to_pylist()]
    if form == "json":
        return [json.dumps(row) for row in rows]
    return ["eventtime,k,id", *(f"{row['eventtime']},{row['k']},{row['id']}" for row in rows)]


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def test_json_and_csv_with_unreadable_rows(application: Application) -> None:
    left, right = (events(ROWS, 100, seed, nulls=0).drop_columns(["v"]) for seed in (31, 32))
    for part in (0, 1):
        half = slice(part * ROWS // 2, (part + 1) * ROWS // 2)
        write_lines(
            application.folder / f"l/{part}.json",
            text_lines(left[half], "json") + (BAD_JSON if part == 0 else []),
        )
        write_lines(
            application.folder / f"r/{part}.csv",
            text_lines(right[half], "csv") + (BAD_CSV if part == 1 else []),
        )
    summary = application.run(TEXT_PQL)
    expected = """
        SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 3 MINUTE
    """
    db = database(l=left, r=right)
    files = committed_files(application.folder / "json")
    lines = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
    add(
        db,
        "as_json",
        pa.table({side: pa.array([line.get(side) for line in lines], pa.int64()) for side in "lr"}),
    )
    add(db, "sharded", application.category("sharded").drop_columns(["_hash"]))
    assert count(db, expected) > ROWS
    assert differences(db, "FROM as_json", expected) == {}
    assert differences(db, "FROM sharded", expected) == {}
    assert Category.open(application.home, "sharded").buckets == 8
    segments = Category.open(application.home, "sharded").commit(0).segments
    assert all(
        sum(rows > 0 for rows in segment.rows_per_bucket) > 4 for segment in segments if segment.rows > 100
    )

    assert {join.rejected_rows for join in summary.joins} == {len(BAD_JSON) + len(BAD_CSV)}
    assert sorted(application.category("texts.rejects.l")["raw"].to_pylist()) == sorted(BAD_JSON)
    assert sorted(application.category("texts.rejects.r")["raw"].to_pylist()) == sorted(BAD_CSV)
    assert all(".json" in file for file in application.category("texts.rejects.l")["file"].to_pylist())


@pytest.mark.parametrize("where", ["", "WHERE id + 0 >= 0"], ids=["plain", "computed"])
def test_times_in_other_units_and_without_zone(application: Application, where: str) -> None:
    """Nanoseconds are cut to microseconds, and times without a zone are UTC."""
    rng = np.random.default_rng(5)
    left_ns = START_US * 1000 + np.sort(rng.integers(0, 60_000_000_000, ROWS))
    right_us = START_US + np.sort(rng.integers(0, 60_000_000, ROWS))
    right_us[: ROWS // 2] = left_ns[: ROWS // 2] // 1000 + 1_000_000  # exactly on the bound
    right_us.sort()
    keys = rng.integers(0, 20, (2, ROWS))
    left = pa.table(
        {"eventtime": pa.array(left_ns, pa.timestamp("ns", "UTC")), "k": keys[0], "id": np.arange(ROWS)}
    )
    right = pa.table(
        {"eventtime": pa.array(right_us, pa.timestamp("us")), "k": keys[1], "id": np.arange(ROWS)}
    )
    for name, table in (("l", left), ("r", right)):
        (application.folder / name).mkdir()
        pq.write_table(table, application.folder / name / "0.parquet", version="2.6")
    application.run(f"""
        CREATE APPLICATION units;
        CREATE INPUT TABLE l (eventtime, k, id) FROM FILES("{{here}}/l", format = "parquet");
        CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("{{here}}/r", format = "parquet");
        CREATE VIEW a AS SELECT * FROM l {where};
        CREATE VIEW b AS SELECT * FROM r {where};
        CREATE VIEW pairs AS SELECT a.eventtime AS at, b.eventtime AS bt, a.id AS l, b.id AS r
            FROM a JOIN b ON a.k = b.k
            AND b.eventtime BETWEEN a.eventtime - INTERVAL '0 seconds' AND a.eventtime + INTERVAL '1 second';
        CREATE TABLE t AS SELECT * FROM pairs STORAGE SCRIBE(category = "t");
    """)
    micros = pa.array(left_ns // 1000, pa.timestamp("us"))
    db = database(l=left.set_column(0, "eventtime", micros), r=right, found=application.category("t"))
    expected = """
        SELECT l.eventtime, r.eventtime, l.id, r.id FROM l JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL 1 SECOND
    """
    assert count(db, expected) > ROWS
    assert differences(db, "FROM found", expected) == {}
