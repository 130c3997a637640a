"""Spark's analyzer, asked about one query at a time. The tools that write down for `check` what Spark refuses
ask it, and so do the tests that hold their files against it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def analyzer() -> SparkSession:
    """A small session for a tool. What Spark logs is left out: nearly every question is refused."""
    from pyspark.sql import SparkSession

    made = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    logging.disable()
    return made


def refusal(spark: SparkSession, sql: str) -> str:
    """How the analyzer's words begin when it refuses a query; empty: it accepts it."""
    try:
        spark._jsparkSession.sql(sql)
    except Exception as error:  # PySpark's own errors say the same in a thousand lines
        return str(getattr(error, "_desc", "refused"))[:60]
    return ""
