"""Where Spark keeps the progress of queries, and how it writes it.

For each batch of each query Spark writes two small files: what the batch is to cover, and that it is done. By
default it does so through Hadoop's FileContext, which on a local disk starts about twenty processes a file
(`chmod`, `readlink`): 40 ms that every batch waits for, twice. Through Hadoop's FileSystem the same file,
written under another name, renamed and with the same checksum file beside it, takes a quarter of that. It
does not refuse to replace a file, which is what keeps two runs of one query apart elsewhere; here an
application is held by one run at a time (`application.py`). On S3, where neither way can refuse, it asks the
server less.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from dovetail.log.homes.filesystem import Store, open_store
from dovetail.spark.s3 import spark_uri

_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_QUICK = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


@dataclass(frozen=True)
class Checkpoint:
    """The progress of one query, below the home."""

    home: str
    application: str
    query: str

    @property
    def folder(self) -> str:
        """As our store knows it."""
        return f"apps/{self.application}/checkpoints/{self.query}"

    @property
    def uri(self) -> str:
        """As Spark knows it."""
        return f"{spark_uri(self.home)}/{self.folder}"

    @property
    def store(self) -> Store:
        return open_store(self.home)


def write_quickly(spark: SparkSession, home: str) -> None:
    """Choose the quick way for a home on local disk or S3, unless the user has chosen."""
    known = "://" not in home or home.startswith("s3://")
    if known and spark.conf.get(_SETTING, None) is None:
        spark.conf.set(_SETTING, _QUICK)
