"""The types that functions refuse: those of the Spark that is installed, as `check` reads them."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files

import pytest

from dovetail.plan.spark_argument_types import FILE, FORMAT, refuses
from dovetail.plan.spark_functions import spark_functions
from dovetail.pql.check import check


def test_the_file_is_of_the_spark_that_is_installed() -> None:
    """If this fails: PYTHONPATH=dev .venv/bin/python -m dovetail_dev.spark_argument_types."""
    said = json.loads(files("dovetail.plan").joinpath(FILE).read_text())
    assert (said["format"], said["spark"]) == (FORMAT, version("pyspark"))
    assert said["functions"].keys() <= spark_functions().functions.keys()
    assert len(said["functions"]) > 300


@pytest.mark.parametrize(
    ("name", "count", "position", "type_", "refused"),
    [
        ("upper", 1, 0, "STRING", False),
        ("upper", 1, 0, "BIGINT", False),  # Spark casts it
        ("upper", 1, 0, "ARRAY<INT>", True),
        ("date_add", 2, 1, "INT", False),
        ("date_add", 2, 1, "BIGINT", True),
        ("abs", 1, 0, "DECIMAL(10, 2)", False),  # not asked
        ("no_such_function", 1, 0, "INT", False),
    ],
)
def test_some_of_them(name: str, count: int, position: int, type_: str, refused: bool) -> None:
    assert refuses(name, count, position, type_) == refused


def test_what_is_inferred_is_not_judged() -> None:
    text = """CREATE APPLICATION app; CREATE INPUT TABLE a (t TIMESTAMP, tags) FROM SCRIBE("a");
    CREATE TABLE o AS SELECT t, size(tags) AS n FROM a STORAGE NOOP;"""
    assert check(text).ok
    assert not check(text.replace("tags)", "tags STRING)", 1)).ok
    assert check(text, source_schemas={"a": {"t": "timestamp", "tags": "array<string>"}}).ok
