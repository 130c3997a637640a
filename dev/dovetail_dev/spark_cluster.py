"""A standalone Spark cluster of real processes on loopback: a master, and workers that can be killed.

Each worker stands for a machine of its own: it has an address, a working directory and an index directory of
its own, and nothing in its environment that would lead to this package.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
PATIENCE_S = 240.0
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that does little: compiling well costs more than it gains."""
SETTINGS = tuple(
    word
    for setting in (
        "spark.executor.memory=512m",
        f"spark.executor.extraJavaOptions={SHORT_LIVED}",
        f"spark.driver.extraJavaOptions={SHORT_LIVED}",
    )
    for word in ("--set", setting)
)
"""For runs on this cluster."""
REGISTERED = "Successfully registered with master"


def until(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition; fails with `what` when that takes far too long."""
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.05)


@dataclass
class Server:
    """A master or a worker, in a process group of its own: executors belong to their worker's."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def is_registered(self) -> bool:
        return REGISTERED in self.log

    def signal(self, number: signal.Signals) -> None:
        """To all of them: the server, its executors and their Python processes."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """As when the machine goes down."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()


@dataclass
class Standalone:
    folder: Path
    master: Server
    address: str
    workers: list[Server] = field(default_factory=list)

    def add_workers(self, count: int) -> None:
        for number in range(len(self.workers), len(self.workers) + count):
            folder = self.folder / f"worker-{number}"
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work")]
            host = f"127.0.0.{number + 2}"  # Spark runs a second copy of a task on another host only
            self.workers.append(_started("worker.Worker", folder, host, *size, self.address))
        for worker in self.workers[-count:]:
            until(worker.is_registered, "a worker registers")

    @property
    def executor_logs(self) -> str:
        found = self.folder.glob("worker-*/work/*/*/stderr")
        return "\n".join(path.read_text(errors="replace") for path in found)


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    master = _started("master.Master", folder / "master", "127.0.0.1")
    cluster = None
    try:
        until(lambda: re.search(r"Starting Spark master at spark://", master.log), "the master starts")
        address = re.search(r"Starting Spark master at (spark://\S+)", master.log)
        assert address is not None
        cluster = Standalone(folder, master, address[1])
        cluster.add_workers(workers)
        yield cluster
    finally:
        for server in [*(cluster.workers if cluster else []), master]:
            server.kill()


def _started(main: str, folder: Path, host: str, *arguments: str) -> Server:
    (folder / "index").mkdir(parents=True)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))
    }
    environment |= {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "DOVETAIL_INDEX_DIR": str(folder / "index"),
    }
    command = [str(SPARK_HOME / "bin/spark-class"), f"org.apache.spark.deploy.{main}"]
    common = ["--host", host, "--port", "0", "--webui-port", "0"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, *common, *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    return Server(folder, process)
