"""Law: every session of ours has the same settings for time zone and Arrow, whatever else the user sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

import dovetail

FIXED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.python.daemon.module": "dovetail.spark.daemon",
    "spark.python.worker.reuse": "true",
}
DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def open_session(
    application: str, master: str, driver_memory: str, settings: Mapping[str, str]
) -> SparkSession:
    """A session for one application. `settings` are the user's and win over our defaults."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    _export_package()
    builder = SparkSession.builder.master(master).appName(f"dovetail {application}")
    cluster = not master.startswith("local")
    for name, value in DEFAULTS.items():
        if not (cluster and name.startswith("spark.driver.")):
            builder = builder.config(name, value)
    builder = builder.config("spark.driver.memory", driver_memory)
    if "spark.sql.shuffle.partitions" not in settings and not cluster:
        builder = builder.config("spark.sql.shuffle.partitions", str(_local_cores(master)))
    for name, value in {**settings, **FIXED}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(settings.get("dovetail.log_level", "OFF"))
    return session


def _local_cores(master: str) -> int:
    inside = master.removeprefix("local").strip("[]").split(",")[0]
    return (os.cpu_count() or 1) if inside == "*" else int(inside or 1)


def _export_package() -> None:
    """Python workers must find this package even where it runs from a source tree."""
    source = str(Path(dovetail.__file__).resolve().parent.parent)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if source not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([source, *paths])
