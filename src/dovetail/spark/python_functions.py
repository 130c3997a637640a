"""The functions of a query as functions of a Spark session. Tasks get their text and make them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # new in Spark 4.1
from pyspark.sql.types import DataType

from dovetail.model.python_function import PythonFunction
from dovetail.slicing.python_calls import call
from dovetail.spark.arrow_types import arrow_type
from dovetail.spark.failures import packs_errors


def register(spark: SparkSession, functions: Iterable[PythonFunction]) -> None:
    for function in functions:
        made = arrow_udf(_caller(function), DataType.fromDDL(function.returns))
        spark.udf.register(function.shipped, made)


def _caller(function: PythonFunction) -> Callable[..., pa.Array]:
    """Every style is called with Arrow arrays: what is made of them is the same wherever it runs."""
    kind = arrow_type(function.returns)
    assert kind is not None

    @packs_errors
    def called(*given: pa.Array) -> pa.Array:
        return call(function, kind, given)

    called.__annotations__ = {"given": pa.Array, "return": pa.Array}
    return called
