"""Directories partitioned as Hive does it: the folder's value is a column; types may differ."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from spark.application import Application
from spark.batch import database, differences
from spark.events import SECOND_US, START_US


def test_the_folder_is_a_column_and_narrower_numbers_are_widened(application: Application) -> None:
    for day in (1, 2, 3):
        for side in ("l", "r"):
            folder = application.folder / side / f"day=2026-01-0{day}"
            folder.mkdir(parents=True)
            times = pa.array([START_US + (day * 100 + n) * SECOND_US for n in range(60)], pa.int64())
            kind = pa.int32() if day == 2 else pa.int64()
            rows = {
                "t": times.cast(pa.timestamp("us", "UTC")),
                "k": pa.array([n // 2 for n in range(60)], kind),
            }
            pq.write_table(pa.table(rows), folder / "part-0.parquet")
    application.run("""
        CREATE APPLICATION app;
        CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, day DATE) FROM FILES("{here}/l", format = "parquet");
        CREATE INPUT TABLE r FROM FILES("{here}/r", format = "parquet");
        CREATE VIEW pairs AS SELECT l.k AS k, l.day AS day, r.day AS other FROM l JOIN r
            ON l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '2 minutes';
        CREATE TABLE out AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/out");
    """)
    here = application.folder
    db = database(out=application.files("out"))
    read = "read_parquet('{}/*/*.parquet', hive_partitioning = true, union_by_name = true)"
    joined = f"""
        SELECT l.k::BIGINT AS k, l.day::DATE AS day, r.day::DATE AS other
        FROM {read.format(here / "l")} l JOIN {read.format(here / "r")} r
        ON l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '2 minutes'"""
    assert differences(db, "SELECT * FROM out", joined) == {}
