"""The list of Spark's functions is that of the Spark that is installed."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from dovetail.plan.spark_functions import FILE, SparkFunction, spark_functions
from dovetail_dev.spark_functions import from_classes, rendered


def test_the_list_is_current() -> None:
    """If this fails: PYTHONPATH=dev .venv/bin/python -m dovetail_dev.spark_functions.

    What the analyzer says beyond the classes is held against it in tests/spark/test_argument_types.py."""
    text = files("dovetail.plan").joinpath(FILE).read_text()
    said, found = json.loads(text), from_classes()
    assert text == rendered(said)
    assert (said["format"], said["spark"]) == (found["format"], found["spark"])
    assert said["functions"].keys() == found["functions"].keys()
    assert len(said["functions"]) > 500
    for name, classes in found["functions"].items():
        one = said["functions"][name]
        if classes["counts"] is not None:
            assert set(one["counts"]) <= set(classes["counts"]), name
        if classes["signatures"]:
            assert one["signatures"] == classes["signatures"], name


def test_most_functions_have_their_counts() -> None:
    """The others take any number, or have a syntax of their own."""
    known = spark_functions().functions.values()
    assert len([one for one in known if one.counts is None and not one.at_least]) < 25
    assert all(
        one.signatures for one in known if one.name in ("floor", "lpad", "hour", "instr", "startswith")
    )


@pytest.mark.parametrize(
    ("name", "counts", "at_least"),
    [
        ("upper", (1,), 0),
        ("regexp_replace", (3, 4), 0),
        ("row_number", (0,), 0),
        ("abs", (1,), 0),
        ("lpad", (2, 3), 0),
        ("floor", (1, 2), 0),
        ("startswith", (2,), 0),
        ("nullif", (2,), 0),  # its class has a constructor of three
        ("explode", (1,), 0),
        ("transform", (2,), 0),
        ("greatest", None, 2),
        ("hour", None, 1),  # Spark ignores the others
        ("concat", None, 0),
        ("current_timestamp", None, 0),  # Spark reads it in its own way
    ],
)
def test_some_of_them(name: str, counts: tuple[int, ...] | None, at_least: int) -> None:
    function = spark_functions().functions[name]
    assert (function.counts, function.at_least) == (counts, at_least)


def test_a_function_that_takes_any_number_from_its_least_on() -> None:
    greatest = SparkFunction("greatest", None, ("greatest(expr, ...)",), 2)
    assert [count for count in range(5) if greatest.takes(count)] == [2, 3, 4]
    assert greatest.count_words == "at least 2 arguments"
    assert SparkFunction("hour", None, (), 1).count_words == "at least 1 argument"


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
