"""A run that stops cleanly leaves nothing on its hosts that the home has not.

Where a host is lost without a clean stop, the last steps are run again: so what cannot be copied here is no
error, only more to do at the next start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.errors import DovetailError
from dovetail.model.join_config import JoinConfig

CALLS_A_CORE = 2
"""Tasks go where there is room: some more than there are cores, so that every host gets one."""


def copy_snapshots(spark: SparkSession, joins: Sequence[JoinConfig]) -> None:
    """Copy the last snapshots of these joins from all hosts to the home."""
    if not joins:
        return
    with suppress(DovetailError, OSError):
        _copy(joins)
    context = spark.sparkContext
    if str(context.master).startswith("local"):
        return
    calls = CALLS_A_CORE * context.defaultParallelism

    def on_a_host(_: Iterable[int]) -> None:
        _copy(joins)

    with suppress(Py4JError, PySparkException, OSError):
        context.parallelize(range(calls), calls).foreachPartition(on_a_host)


def _copy(joins: Sequence[JoinConfig]) -> None:
    for join in joins:
        SnapshotFiles(join).copy_all()
