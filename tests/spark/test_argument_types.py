"""The numbers and the types of arguments that functions refuse, as `check` has them in files, are those that
Spark's analyzer refuses, and so are the types that operators and conditions refuse.

A usual run asks about a few that lie apart, a thorough one about all."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from dovetail.plan.functions import TIME_WINDOWS
from dovetail.plan.spark_argument_types import FILE
from dovetail.plan.spark_functions import FILE as FUNCTIONS
from dovetail.plan.spark_functions import spark_functions
from dovetail.plan.spark_operator_types import FILE as OPERATORS
from dovetail_dev.spark_analyzer import refusal
from dovetail_dev.spark_argument_types import MOST_ARGUMENTS, refused
from dovetail_dev.spark_functions import asked, from_classes
from dovetail_dev.spark_operator_types import ALONE, BETWEEN_TWO, TYPES, alone, between_two
from laws.effort import some
from unit.plan.test_spark_operator_types import REFUSED, TAKEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_file_says_what_sparks_analyzer_says(spark: SparkSession) -> None:
    said = json.loads(files("dovetail.plan").joinpath(FILE).read_text())["functions"]
    asked = [
        (name, count)
        for name, function in spark_functions().functions.items()
        for count in function.counts or ()
        if name not in TIME_WINDOWS and 0 < count <= MOST_ARGUMENTS
    ]
    for name, count in some(asked, usual=6):
        assert refused(spark, name, count) == said.get(name, {}).get(str(count)), (name, count)


def test_the_file_says_how_many_arguments_sparks_analyzer_takes(spark: SparkSession) -> None:
    said = json.loads(files("dovetail.plan").joinpath(FUNCTIONS).read_text())["functions"]
    classes = from_classes()["functions"]
    unsaid = [name for name, one in classes.items() if one["counts"] is None]
    others = [name for name in classes if name not in unsaid]
    for name in ("hour", "lpad", "floor", "nullif", *some(unsaid, usual=5), *some(others, usual=3)):
        assert asked(spark, name, classes[name]) == said[name], name


def test_the_file_says_which_operands_sparks_analyzer_refuses(spark: SparkSession) -> None:
    said = json.loads(files("dovetail.plan").joinpath(OPERATORS).read_text())
    for form in some(list(ALONE), usual=2):
        assert alone(spark, form) == said["alone"][form], form
    for operator, kind in some([(o, k) for o in BETWEEN_TWO for k in TYPES], usual=4):
        assert between_two(spark, operator, kind) == said["between_two"][operator].get(kind, []), (
            operator,
            kind,
        )


def test_spark_refuses_and_takes_the_same_queries_as_check(spark: SparkSession) -> None:
    """Those that `check` refuses and takes in tests/unit/plan/test_spark_operator_types.py."""
    types = "t TIMESTAMP, d DATE, k STRING, x INT, p DECIMAL(10, 2), b BINARY, ok BOOLEAN, tags ARRAY<STRING>"
    spark.createDataFrame([], f"{types}, u STRING").createOrReplaceTempView("a")
    assert [query for query in REFUSED if not refusal(spark, query).startswith("[DATATYPE_MISMATCH.")] == []
    assert [(query, said) for query in TAKEN if (said := refusal(spark, query))] == []
    spark.catalog.dropTempView("a")
