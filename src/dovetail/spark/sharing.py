"""One Spark driver for several applications: a session for each, and a fair share of the cores.

Names of queries, settings and registered sources belong to a session, so applications do not see each
other's. The JVM, its Python workers and the cores are shared. Without a share of its own, a job of an
application would wait until all earlier jobs of the others are done.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from dovetail.spark.s3 import s3_settings
from dovetail.spark.session import open_session

FAIR = {"spark.scheduler.mode": "FAIR"}


def open_shared(name: str, home: str, master: str, driver_memory: str, log: Path) -> SparkSession:
    """A session whose driver others share. It reaches S3 if the home is there."""
    return open_session(name, master, driver_memory, {**FAIR, **s3_settings(home, None, {})}, log)


def session_for(shared: SparkSession, application: str) -> SparkSession:
    """A session of an application's own in a shared driver, for the thread that calls this."""
    own = shared.newSession()
    own.sparkContext.setLocalProperty("spark.scheduler.pool", application)
    return own
