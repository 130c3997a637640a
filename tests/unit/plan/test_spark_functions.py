"""The list of Spark's functions is that of the Spark that is installed."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from dovetail.plan.spark_functions import FILE, SparkFunction, spark_functions
from dovetail_dev.spark_functions import dumped, rendered


def test_the_list_is_current() -> None:
    """If this fails: .venv/bin/python dev/dovetail_dev/spark_functions.py."""
    found = dumped()
    assert files("dovetail.plan").joinpath(FILE).read_text() == rendered(found)
    assert json.loads(rendered(found)) == found
    assert len(found["functions"]) > 500


@pytest.mark.parametrize(
    ("name", "counts"),
    [("upper", (1,)), ("regexp_replace", (3, 4)), ("row_number", (0,)), ("concat", None), ("abs", (1,))],
)
def test_some_of_them(name: str, counts: tuple[int, ...] | None) -> None:
    assert spark_functions().functions[name].counts == counts


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0,), "no arguments"),
        ((1,), "1 argument"),
        ((1, 2), "1 or 2 arguments"),
        ((2, 3, 4), "2 to 4 arguments"),
        ((1, 2, 4), "1 or 2 or 4 arguments"),
    ],
)
def test_counts_in_words(counts: tuple[int, ...], words: str) -> None:
    assert SparkFunction("f", counts, ()).count_words == words
