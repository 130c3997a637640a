"""`check` refuses no call that Spark takes: every function of Spark is known, and so is what it takes."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from dovetail.plan.spark_functions import spark_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = 60


def test_refused_calls_are_refused_by_spark(spark: SparkSession) -> None:
    known = spark_functions().functions
    names = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    named = {name for name in names if re.fullmatch(r"[a-z_][a-z0-9_]*", name)}
    for name in sorted(named - known.keys()):  # operators, and functions that stand after FROM
        with pytest.raises(AnalysisException):
            spark.sql(f"SELECT `{name}`(NULL)")
    counted = [name for name in sorted(named & known.keys()) if known[name].counts is not None]
    for name in random.Random(1).sample(counted, SAMPLE):
        wrong = next(count for count in (3, 0, 5, 7) if not known[name].takes(count))
        with pytest.raises(AnalysisException, match="WRONG_NUM_ARGS"):
            spark.sql(f"SELECT `{name}`({', '.join(['NULL'] * wrong)})")
