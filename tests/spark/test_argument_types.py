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
from dovetail_dev.spark_argument_types import MOST_ARGUMENTS, refused
from dovetail_dev.spark_functions import asked, from_classes
from laws.effort import some

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
