"""`dovetail.join` when something fails: the joined query says so, and what."""

from __future__ import annotations

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import dovetail
from spark.application import Application
from spark.events import events, write_files
from spark.test_api import BOUNDS, stream, write


def test_a_slicer_that_fails_ends_the_joined_query(application: Application) -> None:
    for side in ("l", "r"):
        write_files(events(100, 10, 7), application.folder / side, 1)
    left = stream(application.spark, application.folder / "l")
    right = stream(application.spark, application.folder / "r")
    joined = dovetail.join(
        left.withColumn("v", F.expr("IF(id >= 0, raise_error('no such price'), v)")),
        right,
        "k",
        left_time="eventtime",
        right_time="eventtime",
        name="broken",
        home=application.home,
        **BOUNDS,
    )
    output = write(joined, application.folder / "out", processingTime="200 milliseconds")
    try:
        with pytest.raises(StreamingQueryException, match=r"stage broken\.left failed.*no such price"):
            assert output.awaitTermination(300) is True, "the joined query is silent"
    finally:
        for query in application.spark.streams.active:
            query.stop()
