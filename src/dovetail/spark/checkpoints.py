"""Where Spark keeps the progress of queries, and how it writes it.

For each batch of each query Spark writes two small files: what the batch covers, and that it is done. By
default it uses Hadoop's FileContext, which on a local disk starts about twenty processes per file (`chmod`,
`readlink`): every batch waits 40 ms for that, twice. Hadoop's FileSystem writes the same file under another
name, renames it and puts the same checksum file beside it in a quarter of the time. It does not refuse to
replace a file, which elsewhere keeps two runs of one query apart. Here one run at a time holds an application
(`engine/hold.py`). On S3, where neither way can refuse, FileSystem sends fewer requests.
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
