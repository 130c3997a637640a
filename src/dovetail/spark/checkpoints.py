"""Where Spark keeps the progress of queries, and how it writes it.

For each batch of each query Spark writes two small files: what the batch is to cover, and that it is done. By
default it does so through Hadoop's FileContext, which on a local disk starts about twenty processes a file
(`chmod`, `readlink`): 40 ms that every batch waits for, twice. Through Hadoop's FileSystem the same file,
written under another name, renamed and with the same checksum file beside it, takes a quarter of that. It
does not refuse to replace a file, which is what keeps two runs of one query apart elsewhere; here an
application is held by one run at a time (`application.py`).
"""

from __future__ import annotations

from pyspark.sql import SparkSession

_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_QUICK = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def checkpoint_of(home: str, application: str, query: str) -> str:
    return f"{home}/apps/{application}/checkpoints/{query}"


def write_quickly(spark: SparkSession, home: str) -> None:
    """Choose the quick way for a home on local disk, unless the user has chosen."""
    if "://" not in home and spark.conf.get(_SETTING, None) is None:
        spark.conf.set(_SETTING, _QUICK)
