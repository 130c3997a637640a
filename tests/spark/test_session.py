"""What a session must not change about the process it is opened in."""

from __future__ import annotations

import signal

from pyspark.sql import SparkSession

from dovetail.spark.session import open_session


def test_ctrl_c_stays_with_whoever_had_it(spark: SparkSession) -> None:
    """PySpark installs a handler of its own when its context is made, which the fixture has done by now."""
    before = signal.getsignal(signal.SIGINT)
    assert open_session("again", "local[2]", "2g", {}) is not None
    assert signal.getsignal(signal.SIGINT) is before
    assert "pyspark" not in getattr(before, "__module__", "")


def test_a_batch_of_any_size_passes_through_the_driver(spark: SparkSession) -> None:
    """Into a topic of Kafka, in one transaction. Spark would refuse more than 1 GiB, however often."""
    assert spark.conf.get("spark.driver.maxResultSize") == "0"
