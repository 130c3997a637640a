"""Packs a small home as one build of Dovetail leaves it after two runs on Spark, with Spark's own
checkpoints: an application with a join and an aggregate, in the middle of its streams, at its second version.

It runs in a checkout of that build, as `make_home.py` does:

    PYTHONPATH=src:tests python .../tests/homes/make_spark_home.py tests/homes/spark-COMMIT.tar.gz

`tests/spark/test_released_home.py` goes on from each."""

import gzip
import io
import sys
import tarfile
import tempfile
from pathlib import Path

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.service.cli.run import run_application
from dovetail.slicing.write_rows import bucket_of, time_of

START_US, MINUTE_US = 1_700_000_040_000_000, 60_000_000
ROWS, PARTS = 60, 3
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("l");
    CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("r");
    CREATE VIEW pairs AS SELECT l.t AS t, l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.t BETWEEN l.t - INTERVAL '1 minute' AND l.t + INTERVAL '2 minutes';
    CREATE TABLE rows AS SELECT l, r FROM pairs STORAGE SCRIBE(category = "rows");
    CREATE TABLE minutes AS SELECT window(t, '1 minute').start AS since, COUNT(*) AS n, COUNT(r) AS matched
        FROM pairs GROUP BY window(t, '1 minute') STORAGE SCRIBE(category = "minutes");
"""
SECOND = PQL.replace("SELECT l, r FROM", "SELECT l, r, l + 1 AS more FROM")


def times(side):
    """Every five seconds a row, of one of four keys; those of the right side come a little later."""
    return [START_US + n * 5_000_000 + (7_000_000 if side == "r" else 0) for n in range(ROWS * PARTS)]


def append(home, side, part):
    ids = range(part * ROWS, (part + 1) * ROWS)
    stamps = pa.array([times(side)[n] for n in ids], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"t": stamps, "k": pa.array([n % 4 for n in ids]), "id": pa.array(ids)})
    if part == 0:
        Category.create(home, side, rows.schema, buckets=1)
    category = Category.open(home, side)
    category.append(category.write_segments(rows.to_batches(), bucket_of(None, 1), time_of("t")))


def main(target):
    with tempfile.TemporaryDirectory() as work, io.BytesIO() as packed:
        home = str(Path(work) / "home")
        for part, query in enumerate((PQL, SECOND)):
            for side in ("l", "r"):
                append(home, side, part)
            text = (query, "app.pql")
            run_application(text, home=home, master="local[2]", mode="available-now", settings={})
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path in sorted(Path(home).rglob("*")):
                if path.name != "spark.log" and not path.name.endswith(".crc"):
                    archive.add(path, str(path.relative_to(work)), recursive=False)
        Path(target).write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
