"""Law: when a run stops cleanly, the home has everything that its hosts have.

After a host is lost without a clean stop, the last steps run again. So a copy that fails here is no error: it
only means more work at the next start.
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
"""Spark places tasks where there is room. More tasks than cores make sure that every host gets one."""


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
