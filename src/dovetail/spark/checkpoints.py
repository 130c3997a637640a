"""Where Spark keeps the progress of queries, and how it writes it.

For each batch of each query Spark writes two small files: what the batch covers, and that it is done. By
default it uses Hadoop's FileContext, which on a local disk starts about twenty processes per file (`chmod`,
`readlink`): every batch waits 40 ms for that, twice. Hadoop's FileSystem writes the same file under another
name, renames it and puts the same checksum file beside it in a quarter of the time. It does not refuse to
replace a file, which elsewhere keeps two runs of one query apart. Here one run at a time holds an application
(`engine/hold.py`). On S3, where neither way can refuse, FileSystem sends fewer requests.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from pyspark.sql import SparkSession

from dovetail.engine import carried
from dovetail.errors import CorruptFile
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
        place = str(carried.folder_of(self.home)) if carried.is_carried(self.home) else self.home
        return f"{spark_uri(place)}/{self.folder}"

    @property
    def store(self) -> Store:
        """Where Spark keeps it: the home, if it can write there."""
        if carried.is_carried(self.home):
            return carried.bring(self.home, self.application)
        return open_store(self.home)

    def keep(self) -> None:
        """To be called before a batch counts: the home knows what it covers."""
        if carried.is_carried(self.home):
            carried.carry(self.home, self.folder)

    def remove_drafts(self) -> None:
        """Remove what a query that was killed had begun to write. Spark counts such a file as progress, and
        refuses a first batch where there is some. Nobody else writes here: the application is held."""
        for log in ("offsets", "commits"):
            for name in self.store.names(f"{self.folder}/{log}"):
                if name.startswith(".") and ".tmp" in name:
                    self.store.delete(f"{self.folder}/{log}/{name}")

    def id(self) -> str:
        """What Spark calls the query. It is made here if the query has never run: Spark takes it as it is."""
        path = f"{self.folder}/metadata"
        if self.store.size(path) is None:
            self.store.make_folder(self.folder)
            self.store.create(path, json.dumps({"id": str(uuid.uuid4())}).encode())
        try:
            return str(json.loads(self.store.read(path))["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFile(
                f"Spark's checkpoint does not say its id: {error}",
                where=f"{self.store.root}/{path}",
                hint="restore it from a copy of the home, or start the application in a new home",
            ) from error


def write_quickly(spark: SparkSession, home: str) -> None:
    """Choose the quick way for a home on local disk or S3, unless the user has chosen."""
    known = "://" not in home or home.startswith("s3://") or carried.is_carried(home)
    if known and spark.conf.get(_SETTING, None) is None:
        spark.conf.set(_SETTING, _QUICK)
