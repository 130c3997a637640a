"""A Hive metastore: Hive's own server, with its tables in a Derby database of its folder.

Its jars are fetched as the broker's are (`ivy.py`). Hadoop's are those that PySpark brings. An empty database
is made once for each machine, too: its tables for locks, which Iceberg needs, are made by a metastore that
believes to be in a test of Hive's, and then refuses what it would not refuse otherwise.

This version has no setting to listen on loopback only. It keeps nothing but tables of tests.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyspark

from dovetail_dev.ivy import fetched, retrieve
from dovetail_dev.kafka_broker import PATIENCE_S
from dovetail_dev.ports import free_port

VERSION = "3.1.3"
"""It runs on Java 17. Later ones were not tried."""
_IVY = f"""<ivy-module version="2.0">
  <info organisation="dovetail" module="hive-metastore"/>
  <configurations><conf name="metastore"/></configurations>
  <dependencies>
    <dependency org="org.apache.hive" name="hive-standalone-metastore" rev="{VERSION}"
        conf="metastore->default">
      <exclude org="org.apache.hadoop"/><exclude org="org.apache.orc"/><exclude org="sqlline"/>
    </dependency>
    <dependency org="commons-cli" name="commons-cli" rev="1.9.0" conf="metastore->default"/>
    <dependency org="commons-collections" name="commons-collections" rev="3.2.2" conf="metastore->default"/>
    <dependency org="org.apache.logging.log4j" name="log4j-api" rev="2.17.1" conf="metastore->default"/>
  </dependencies>
</ivy-module>
"""
_SMALL = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=WARN")
_OURS = "org.apache.hadoop.hive.metastore"
_SETTINGS = (
    "metastore.schema.verification=false",  # the database is new
    "datanucleus.schema.autoCreateAll=true",
    f"metastore.expression.proxy={_OURS}.DefaultPartitionExpressionProxy",  # the usual one is in Hive itself
    f"metastore.task.threads.always={_OURS}.events.EventCleanerTask",  # so are most of the others
)


def _jars() -> Path:
    return fetched(f"hive-metastore-{VERSION}", _fetch)


def _fetch(cache: Path, draft: Path) -> None:
    (cache / "hive-metastore.xml").write_text(_IVY)
    pattern = f"{draft.name}/[artifact]-[revision].[ext]"
    asked = ["-ivy", "hive-metastore.xml", "-confs", "metastore", "-types", "jar", "bundle"]
    retrieve(cache, "the Hive metastore", *asked, "-retrieve", pattern)


def _empty(jars: Path) -> Path:
    def make(cache: Path, draft: Path) -> None:
        from pymetastore.hive_metastore.ttypes import ShowLocksRequest

        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        server = HiveMetastore(draft)
        try:
            server.run(jars, "hive.in.test=true", "metastore.client.capability.check=false")
            with server.client() as client:
                client.show_locks(ShowLocksRequest())
        finally:
            server.kill()

    return fetched(f"hive-metastore-{VERSION}-tables", make)


def installed() -> tuple[Path, Path]:
    """Its jars, and an empty database."""
    jars = _jars()
    return jars, _empty(jars)


class HiveMetastore:
    """A test may `start` and `kill` it often. Its port and its tables stay."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self.uri = f"thrift://127.0.0.1:{self._port}"
        self.warehouse, self._tables = folder / "warehouse", folder / "tables"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        jars, empty = installed()
        if not self._tables.exists():
            shutil.copytree(empty / "tables", self._tables)
        self.run(jars)

    def client(self) -> AbstractContextManager[Any]:
        from dovetail.connectors.metastore import Metastore

        return Metastore(self.uri, "a test").client()

    def run(self, jars: Path, *more: str) -> None:
        hadoop = sorted(Path(pyspark.__file__).parent.glob("jars/hadoop-client-*.jar"))
        classes = ":".join([f"{jars}/*", *map(str, hadoop)])
        settings = (
            *_SETTINGS,
            *more,
            f"javax.jdo.option.ConnectionURL=jdbc:derby:;databaseName={self._tables};create=true",
            f"metastore.warehouse.dir={self.warehouse}",
        )
        given = [word for one in settings for word in ("--hiveconf", one)]
        with open(self._folder / "metastore.log", "ab") as log:
            self._process = subprocess.Popen(
                ["java", *_SMALL, "-cp", classes, f"{_OURS}.HiveMetaStore", "-p", str(self._port), *given],
                cwd=self._folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert time.monotonic() < deadline_s, "the metastore does not answer"
            time.sleep(0.1)

    def kill(self) -> None:
        """As a machine that loses its power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        from dovetail.errors import Unreachable

        said = (self._folder / "metastore.log").read_text()[-3000:]
        assert self._process is not None
        assert self._process.poll() is None, f"the metastore has ended:\n{said}"
        try:
            with self.client() as client:
                return "default" in client.get_all_databases()
        except Unreachable:
            return False


@contextmanager
def hive_metastore(folder: Path) -> Iterator[HiveMetastore]:
    server = HiveMetastore(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
