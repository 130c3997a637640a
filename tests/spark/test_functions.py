"""Functions of a query on Spark: in a slicer, after the join, over an aggregate; what an error says."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dovetail.errors import RunError
from spark.application import Application
from spark.batch import database, differences
from spark.events import SECOND_US, START_US, write_files

PQL = """
    CREATE APPLICATION app;
    CREATE FUNCTION grade(x BIGINT, y STRING) RETURNS STRING LANGUAGE PYTHON AS $$
        if x is None or y is None:
            return None
        return y * (x % 3)
    $$;
    CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON PARAMETER STYLE ARROW AS $$
        import pyarrow.compute as pc
        return pc.multiply(x, 2)
    $$;
    CREATE FUNCTION half(x BIGINT) RETURNS DOUBLE LANGUAGE PYTHON PARAMETER STYLE PANDAS AS $$
        return 1000 / (x - {bad}) if (x == {bad}).any() and (1 // 0) else x / 2
    $$;
    CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{{here}}/l", format = "parquet");
    CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, id BIGINT, s STRING)
        FROM FILES("{{here}}/r", format = "parquet");
    CREATE VIEW pairs AS
        SELECT l.t AS t, l.id AS l, twice(l.id) AS tw, grade(r.id, r.s) AS g, half(r.id) AS h
        FROM l LEFT JOIN r ON twice(l.k) = twice(r.k) AND r.t BETWEEN l.t AND l.t + INTERVAL '1 minute'
        WHERE twice(l.id) < 1000;
    CREATE TABLE out AS SELECT * FROM pairs STORAGE PARQUET(path = "{{here}}/out");
    CREATE TABLE minutes AS SELECT window.start AS since, grade(l, 'ab') AS g, SUM(twice(l)) AS n
        FROM pairs GROUP BY window(t, '1 minute'), grade(l, 'ab') STORAGE PARQUET(path = "{{here}}/minutes");
"""


def streams(application: Application) -> None:
    rows = 700
    times = pa.array([START_US + n * SECOND_US for n in range(rows)]).cast(pa.timestamp("us", "UTC"))
    numbers = pa.array(range(rows))
    keys = pa.array([n // 3 for n in range(rows)])
    left = pa.table({"t": times, "k": keys, "id": numbers})
    write_files(left, application.folder / "l", 2)
    texts = pa.array([None if n % 7 == 0 else "xyz"[: n % 4] for n in range(rows)], pa.string())
    write_files(left.append_column("s", texts), application.folder / "r", 2)


def test_functions_before_and_after_a_join_and_in_aggregates(application: Application) -> None:
    streams(application)
    application.run(PQL.format(bad=-1))
    here = application.folder
    db = database(out=application.files("out"), minutes=application.files("minutes"))
    joined = f"""
        SELECT l.t, l.id AS l, l.id * 2 AS tw,
               CASE WHEN r.s IS NOT NULL THEN repeat(r.s, (r.id % 3)::INT) END AS g, r.id / 2 AS h
        FROM '{here}/l/*.parquet' l LEFT JOIN '{here}/r/*.parquet' r
        ON l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '1 minute' WHERE l.id < 500"""
    assert differences(db, "SELECT * FROM out", joined) == {}
    grouped = f"""
        SELECT time_bucket(INTERVAL '1 minute', t) AS since, repeat('ab', (l % 3)::INT) AS g,
               sum(tw)::BIGINT AS n FROM ({joined}) GROUP BY ALL"""
    assert differences(db, "SELECT * FROM minutes", grouped) == {}


def test_an_error_names_the_row_of_whichever_task(application: Application) -> None:
    streams(application)
    with pytest.raises(RunError) as caught:
        application.run(PQL.format(bad=77))
    assert "half(x = 77) failed: ZeroDivisionError" in caught.value.what
    assert "function half, line 2" in str(caught.value.where)
