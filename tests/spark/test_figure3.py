"""Figure 3 of the paper, as printed (a comma is missing there), with the comma, and with column types given:
over categories filled from files it gives what DuckDB gives for the same join."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from commands import run_command
from spark.application import Application
from spark.batch import count, database, differences

AS_PRINTED = """
CREATE APPLICATION sample_app;

CREATE INPUT TABLE left (
    eventtime, key, dim_one, metric
) FROM SCRIBE("left");

CREATE INPUT TABLE right (
    eventtime, key, dim_two, dim_three
) FROM SCRIBE("right");

CREATE VIEW joined_streams AS
SELECT
    l.eventtime AS eventtime, l.key AS key,
    l.dim_one AS dim_one, r.dim_two AS dim_two
    COALESCE(r.dim_three, "example") AS dim_three,
    ABS(l.metric) AS metric
FROM left AS l LEFT OUTER JOIN right AS r
ON (l.key = r.key) AND
   (r.eventtime BETWEEN
    l.eventtime - INTERVAL '3 minutes' AND
    l.eventtime + INTERVAL '3 minutes');

CREATE TABLE result AS
SELECT
    eventtime, key, dim_one, dim_two,
    dim_three, metric
FROM joined_streams
STORAGE SCRIBE (category = "result");
"""
WITH_COMMA = AS_PRINTED.replace("AS dim_two\n", "AS dim_two,\n")
WITH_TYPES = WITH_COMMA.replace(
    "eventtime, key, dim_one, metric\n", "eventtime TIMESTAMP, key BIGINT, dim_one STRING, metric DOUBLE\n"
).replace(
    "eventtime, key, dim_two, dim_three\n)",
    "eventtime TIMESTAMP, key BIGINT, dim_two BIGINT, dim_three STRING\n)",
)
EXPECTED = """
    SELECT l.eventtime, l.key, l.dim_one, r.dim_two, coalesce(r.dim_three, 'example'), abs(l.metric)
    FROM lefts l LEFT JOIN rights r ON l.key = r.key
     AND r.eventtime BETWEEN l.eventtime - INTERVAL 3 MINUTE AND l.eventtime + INTERVAL 3 MINUTE
"""
ROWS = 20_000


def sides() -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(3)

    def common() -> dict[str, pa.Array]:
        arrival_us = 1_700_000_000_000_000 + np.sort(rng.integers(0, 3_600_000_000, ROWS))
        delay_us = np.minimum(rng.exponential(10e6, ROWS), 100e6).astype(np.int64)
        key = pa.array(rng.integers(0, 2000, ROWS), mask=rng.random(ROWS) < 0.01)
        return {"eventtime": pa.array(arrival_us - delay_us, pa.timestamp("us", "UTC")), "key": key}

    numbers = rng.integers(0, 9, ROWS)
    return (
        pa.table(
            {**common(), "dim_one": pa.array(numbers).cast(pa.string()), "metric": rng.normal(size=ROWS)}
        ),
        pa.table(
            {
                **common(),
                "dim_two": rng.integers(0, 9, ROWS),
                "dim_three": pa.array([None if n == 0 else f"d{n}" for n in numbers]),
            }
        ),
    )


def append(home: str, category: str, rows: pa.Table, folder: Path) -> None:
    """Through the command line, half a file at a time."""
    files = [folder / f"{category}-{n}.parquet" for n in (0, 1)]
    for n, file in enumerate(files):
        pq.write_table(rows.slice(n * ROWS // 2, ROWS // 2), file)
    assert run_command("log", "append", category, *map(str, files), "--home", home) == 0


def test_figure_3_equals_duckdb(application: Application) -> None:
    left, right = sides()
    append(application.home, "left", left, application.folder)
    append(application.home, "right", right, application.folder)
    db = database(lefts=left, rights=right)
    assert count(db, f"FROM ({EXPECTED}) WHERE dim_two IS NOT NULL") > ROWS / 2
    assert count(db, f"FROM ({EXPECTED}) WHERE dim_two IS NULL") > ROWS / 10
    for name, text in {"printed": AS_PRINTED, "comma": WITH_COMMA, "types": WITH_TYPES}.items():
        pql = text.replace("sample_app", f"sample_app_{name}").replace('"result"', f'"result_{name}"')
        assert name == "printed" or pql != AS_PRINTED
        application.run(pql)
        found = application.category(f"result_{name}")
        assert found.schema.names == ["eventtime", "key", "dim_one", "dim_two", "dim_three", "metric"]
        db.register(
            "found",
            found.cast(pa.schema([pa.field("eventtime", pa.timestamp("us")), *list(found.schema)[1:]])),
        )
        assert differences(db, "FROM found", EXPECTED) == {}, name
        db.unregister("found")
