"""`dovetail.local.run`: whole applications in this process, without Java."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail.local
from dovetail.errors import InputError, PlanError
from dovetail.log.category import Category
from dovetail.service.checkout import checkout_root
from dovetail.slicing.write_rows import bucket_of, time_of

START = datetime(2026, 1, 1, tzinfo=UTC)
INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("l");
CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, y BIGINT) FROM {right};
CREATE VIEW pairs AS SELECT l.k AS k, l.x AS x, r.y AS y FROM l {how} JOIN r ON {on};
CREATE TABLE result AS SELECT k, x, {out} FROM pairs STORAGE NOOP;
"""
INTERVAL = "l.k = r.k AND r.t BETWEEN l.t - INTERVAL '10 seconds' AND l.t + INTERVAL '10 seconds'"
WITHIN = "l.k = r.k WITHIN TUMBLING '1 minute'"
NEAR = "abs(l.x - r.y) <= 1 AND r.t BETWEEN l.t - INTERVAL '10 seconds' AND l.t + INTERVAL '10 seconds'"


def query(on: str = INTERVAL, how: str = "LEFT", right: str = 'SCRIBE("r")', out: str = "y") -> str:
    return INPUTS.format(on=on, how=how, right=right, out=out)


def rows(value: str, *given: tuple[int, int, int]) -> pa.Table:
    """Seconds, key, value."""
    return pa.table(
        {
            "t": pa.array([START + timedelta(seconds=s) for s, _, _ in given], pa.timestamp("us", "UTC")),
            "k": pa.array([key for _, key, _ in given], pa.int64()),
            value: pa.array([one for _, _, one in given], pa.int64()),
        }
    )


LEFT = rows("x", (0, 1, 10), (30, 2, 20), (40, 3, 30))
RIGHT = rows("y", (5, 1, 11), (55, 2, 21), (39, 3, 31))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, table in (("l", LEFT), ("r", RIGHT)):
        category = Category.create(str(tmp_path), name, table.schema, buckets=1)
        for at in range(table.num_rows):  # a commit for every row
            batches = table.slice(at, 1).combine_chunks().to_batches()
            category.append(category.write_segments(batches, bucket_of(None, 1), time_of("t")))
    return tmp_path


def found(tables: dict[str, pa.Table]) -> list[tuple[int | None, ...]]:
    return sorted(tuple(row.values()) for row in tables["pairs"].to_pylist())


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_pick_by_value(home: Path, tasks: int) -> None:
    on = "l.x <> r.y AND r.t BETWEEN l.t - INTERVAL '1 minute' AND l.t + INTERVAL '1 minute'"
    for pick, wanted in (("MAX(r.y)", [31, 31, 31]), ("MIN(abs(r.y - l.x))", [11, 21, 31])):
        text = query(f'{on} WITH (match = "one", pick = {pick})')
        assert [row[2] for row in found(dovetail.local.run(text, home, tasks=tasks))] == wanted, pick
    text = query(f'{INTERVAL} WITH (match = "one", pick = MAX(r.y))')
    assert found(dovetail.local.run(text, home, tasks=tasks)) == [(1, 10, 11), (2, 20, None), (3, 30, 31)]


@pytest.mark.parametrize("tasks", [1, 3])
def test_an_interval_join(home: Path, tasks: int) -> None:
    assert found(dovetail.local.run(query(), home, tasks=tasks)) == [(1, 10, 11), (2, 20, None), (3, 30, 31)]


def test_a_join_within_windows(home: Path) -> None:
    assert found(dovetail.local.run(query(WITHIN), home)) == [(1, 10, 11), (2, 20, 21), (3, 30, 31)]


def test_a_theta_join(home: Path) -> None:
    assert found(dovetail.local.run(query(NEAR, "INNER"), home)) == [(1, 10, 11), (3, 30, 31)]


def test_a_category_whose_columns_have_changed(home: Path) -> None:
    """Rows that were there before a column came have null in it."""
    left = Category.open(str(home), "l")
    schema = pa.schema([("z", pa.string()), *LEFT.schema])
    table = rows("x", (50, 2, 40)).add_column(0, "z", pa.array(["new"]))
    left = left.evolve(schema)
    left.append(left.write_segments(table.to_batches(), bucket_of(None, 1), time_of("t")))
    text = query().replace("x BIGINT", "x BIGINT, z STRING").replace("r.y AS y", "r.y AS y, l.z AS z")
    expected = [(1, 10, 11, None), (2, 20, None, None), (2, 40, 21, "new"), (3, 30, 31, None)]
    assert found(dovetail.local.run(text.replace("x, y FROM", "x, y, z FROM"), home)) == expected


def test_parquet_files(home: Path, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    pq.write_table(RIGHT, tmp_path / "files/r.parquet")
    source = f'FILES("{tmp_path}/files", format = "parquet")'
    assert found(dovetail.local.run(query(right=source), home)) == [(1, 10, 11), (2, 20, None), (3, 30, 31)]


def test_a_file_of_pql_and_the_log_stays_as_it_was(home: Path, tmp_path: Path) -> None:
    (tmp_path / "app.pql").write_text(query())
    before = sorted(path for path in home.rglob("*"))
    assert len(found(dovetail.local.run(tmp_path / "app.pql", home))) == 3
    assert sorted(path for path in home.rglob("*")) == before


def test_what_needs_spark_is_named_and_raw_rows_are_given(home: Path) -> None:
    with pytest.raises(PlanError, match="needs Spark") as caught:
        dovetail.local.run(query(out="factorial(y) AS y"), home)
    assert "raw=True" in str(caught.value)
    raw = dovetail.local.run(query(out="factorial(y) AS y"), home, raw=True)["pairs"]
    assert sorted(raw.columns[-1].to_pylist(), key=str) == [11, 31, None]


def test_simple_expressions_and_filters_are_computed(home: Path) -> None:
    made = dovetail.local.run(query(out="y + 1 AS y").replace("FROM pairs", "FROM pairs WHERE k < 3"), home)
    assert sorted(made["pairs"]["y"].to_pylist(), key=str) == [12, None]


def test_functions_of_the_query_run_before_and_after_the_join(home: Path, tmp_path: Path) -> None:
    (tmp_path / "scores.py").write_text("def score(x, y):\n    return None if y is None else x * y\n")
    functions = (
        "CREATE FUNCTION score(x BIGINT, y BIGINT) RETURNS BIGINT LANGUAGE PYTHON FROM 'scores.py';"
        "CREATE FUNCTION next_key(k BIGINT) RETURNS BIGINT LANGUAGE PYTHON PARAMETER STYLE PANDAS "
        "AS $$ return k + 1 $$;"
    )
    text = query(out="y, score(x, y) AS z, half").replace(";\n", f";\n{functions}", 1)
    text = text.replace("r.y AS y FROM", "r.y AS y, next_key(l.k) AS half FROM").replace(
        "l.k = r.k", "next_key(l.k) = next_key(r.k)"
    )
    (tmp_path / "app.pql").write_text(text)
    made = dovetail.local.run(tmp_path / "app.pql", home)["pairs"].to_pylist()
    assert sorted((row["x"], row["z"], row["half"]) for row in made if row["y"]) == [
        (10, 110, 2),
        (30, 930, 4),
    ]


def test_an_aggregate_needs_spark_and_the_join_below_it_does_not(home: Path) -> None:
    text = query().partition("CREATE TABLE")[0] + (
        "CREATE TABLE n AS SELECT COUNT(*) AS n FROM pairs GROUP BY window(t, '1 minute') STORAGE NOOP;"
    )
    text = text.replace("SELECT ", "SELECT l.t AS t, ", 1)
    with pytest.raises(PlanError, match="an aggregate needs Spark") as caught:
        dovetail.local.run(text, home)
    assert caught.value.where == "stage n"
    assert dovetail.local.run(text, home, raw=True)["pairs"].num_rows == 3


def test_no_java_is_needed(home: Path, tmp_path: Path) -> None:
    (tmp_path / "app.pql").write_text(query())
    code = "import sys, dovetail.local; dovetail.local.run(*sys.argv[1:]); print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "app.pql"), str(home)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": ""},
    )
    assert done.stdout == "False\n"


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = (checkout_root() / "docs/how-to/local.md").read_text(encoding="utf-8")
    example = next(
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def test_" in block
    )
    names: dict[str, Any] = {}
    exec(example, names)
    names["test_a_click_finds_its_impression"](tmp_path)


def test_a_query_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        dovetail.local.run(tmp_path / "nowhere.pql")
