"""The types that operators and conditions refuse, as `check` reads them: those of the installed Spark."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files

import pytest

from dovetail.plan.spark_operator_types import FILE, FORMAT, refuses_alone, refuses_between
from dovetail.pql.check import check
from dovetail_dev.spark_operator_types import ALONE, BETWEEN_TWO, rendered

INPUT = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, d DATE, k STRING, x INT, p DECIMAL(10, 2), b BINARY, ok BOOLEAN,
  tags ARRAY<STRING>, u) FROM SCRIBE("a");
"""
REFUSED = (
    "SELECT t FROM a WHERE k",
    "SELECT t FROM a WHERE x",
    "SELECT t FROM a WHERE ok AND x",
    "SELECT t FROM a WHERE x OR ok",
    "SELECT t FROM a WHERE NOT x",
    "SELECT t, CASE WHEN k THEN 1 END AS y FROM a",
    "SELECT t, t + 1 AS y FROM a",
    "SELECT t, ok + 1 AS y FROM a",
    "SELECT t, d * 2 AS y FROM a",
    "SELECT t, -t AS y FROM a",
    "SELECT t, k + k AS y FROM a",
    "SELECT t FROM a WHERE ok < t",
    "SELECT t FROM a WHERE ok = x",
    "SELECT t FROM a WHERE t > x",
    "SELECT t FROM a WHERE t BETWEEN x AND 3",
    "SELECT t FROM a WHERE tags = k",
    "SELECT max(t) AS m FROM a GROUP BY window(t, '1 hour') HAVING max(t)",
)
"""Queries over `INPUT` that `check` and Spark refuse."""
TAKEN = (
    "SELECT t FROM a WHERE ok",
    "SELECT t FROM a WHERE CAST(NULL AS BOOLEAN)",
    "SELECT t FROM a WHERE ok AND k",
    "SELECT t FROM a WHERE NOT k",
    "SELECT t, CASE x WHEN 1 THEN 2 END AS y FROM a",
    "SELECT t, t + INTERVAL '1' HOUR AS y FROM a",
    "SELECT t, d + 1 AS y FROM a",
    "SELECT t, d - d AS y FROM a",
    "SELECT t, t - d AS y FROM a",
    "SELECT t, k + 1 AS y FROM a",
    "SELECT t, x + p * 2 AS y FROM a",
    "SELECT t, p DIV 2 AS y FROM a",
    "SELECT t FROM a WHERE ok = k",
    "SELECT t FROM a WHERE t > '2026-01-01' AND d < t",
    "SELECT t FROM a WHERE x BETWEEN 1 AND 2.5",
    "SELECT t FROM a WHERE b = k",
    "SELECT t FROM a WHERE substring(b, 1, 2) = b",
    "SELECT t FROM a WHERE tags || tags = tags",
    "SELECT max(t) AS m FROM a GROUP BY window(t, '1 hour') HAVING max(x)",
    "SELECT avg(p) DIV 2 AS y, max(t) AS m FROM a GROUP BY window(t, '1 hour')",
)
"""Queries over `INPUT` that are close to those, and that both take."""


def output(query: str) -> str:
    return f"{INPUT}CREATE TABLE o AS {query} STORAGE NOOP;\n"


def test_the_file_is_of_the_spark_that_is_installed() -> None:
    """If this fails: PYTHONPATH=dev .venv/bin/python -m dovetail_dev.spark_operator_types."""
    text = files("dovetail.plan").joinpath(FILE).read_text()
    said = json.loads(text)
    assert text == rendered(said)
    assert (said["format"], said["spark"]) == (FORMAT, version("pyspark"))
    assert (tuple(said["alone"]), tuple(said["between_two"])) == (tuple(ALONE), BETWEEN_TWO)


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_of_types_that_spark_refuses(query: str) -> None:
    (error,) = check(output(query)).errors
    assert "needs a condition, and this is" in error.what or "does not take" in error.what


@pytest.mark.parametrize("query", TAKEN)
def test_a_query_close_to_it(query: str) -> None:
    assert not check(output(query)).errors


def test_what_is_inferred_is_not_judged() -> None:
    assert not check(output("SELECT t, upper(u) AS y FROM a WHERE u")).errors
    assert not check(output("SELECT t FROM (SELECT t, x > 1 AS k FROM a) WHERE k")).errors


def test_a_name_behind_having_is_that_of_the_querys_own_column() -> None:
    query = "SELECT max(x) > 1 AS t, max(x) AS n FROM a GROUP BY window(t, '1 hour') HAVING t"
    assert not any("HAVING" in error.what for error in check(output(query)).errors)


@pytest.mark.parametrize(
    ("left", "operator", "right", "refused"),
    [
        ("TIMESTAMP", "+", "INT", True),
        ("TIMESTAMP_LTZ", "+", "INT", True),
        ("DATE", "+", "INT", False),
        ("DATE", "+", "BIGINT", True),
        ("DECIMAL(10, 2)", "*", "DOUBLE", False),
        ("BOOLEAN", "<", "TIMESTAMP", True),
        ("VARIANT", "+", "INT", False),  # not asked
    ],
)
def test_some_of_them(left: str, operator: str, right: str, refused: bool) -> None:
    assert refuses_between(left, operator, right) == refused


def test_having_casts_what_can_be_cast() -> None:
    forms = [("WHERE", "INT"), ("HAVING", "INT"), ("HAVING", "TIMESTAMP"), ("HAVING", "BOOLEAN")]
    assert [refuses_alone(form, type_) for form, type_ in forms] == [True, False, True, False]
