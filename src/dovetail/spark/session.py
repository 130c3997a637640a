"""Law: every session that Dovetail opens has the same settings for time zone and Arrow, whatever else the
user sets."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dovetail.engine.hold import held_locks
from dovetail.engine.masters import is_cluster, local_cores, retrying
from dovetail.engine.process_folder import process_folder
from dovetail.engine.shipped_code import packed
from dovetail.errors import RunError
from dovetail.spark.class_archive import java_options
from dovetail.spark.hang_up import quiet_accumulators
from dovetail.spark.worker_python import DRIVER_PYTHON, WORKERS_ENVIRONMENT, choose_python

TIME_ZONE = "spark.sql.session.timeZone"
FIXED = {
    TIME_ZONE: "UTC",
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
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # nanoseconds become timestamps in `inputs.py`
    # STORAGE KAFKA commits a batch's records in one transaction, of the driver's. A batch above Spark's limit
    # of 1 GiB would be refused each time that it is tried again.
    "spark.driver.maxResultSize": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

CLUSTER = {
    # A lost machine fails every task that it had, and its successors may be lost too. Each of our tasks may
    # run any number of times, and a query that gives up has to be started again by hand.
    "spark.task.maxFailures": "8",
    # A join has as many tasks as there are cores when a run begins: wait for most of those that were asked
    # for (spark.cores.max), for at most half a minute.
    "spark.scheduler.minRegisteredResourcesRatio": "0.8",
}
"""On a cluster, only what Spark does not do well by itself. The user may set all of it otherwise."""

LOCAL_JVM = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    "-Xms64m",
)
"""On a local master the JVM shares the cores with the join. In the first minute its optimizing compiler takes
seconds of them, for code that mostly plans and passes batches on. So it waits until code is ten times
hotter. Java begins with a heap of a 64th of the machine's memory and would fill that before it collects;
ours begins small, and grows to `spark.driver.memory` where rows pass through it."""
FEW_CORES = 4
"""On so few, collecting with one thread takes no longer than with as many as there are cores, and less memory
and fewer cores are taken from the join."""

_NO_PYTHON = "/no/python"
"""When a session registers its first Python source, Spark starts two processes of the driver's Python that
import every installed package called `pyspark_...`, to find the data sources that they have. Inputs and
outputs of Dovetail are not among them. Spark skips this if the command does not exist, and uses the variable
for nothing else in a JVM that Python has started."""

_PATH = f"{WORKERS_ENVIRONMENT}PYTHONPATH"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_SOCKET_FOLDER = 60
"""A socket's path may have about a hundred characters; Spark adds forty."""


def open_session(
    application: str, master: str, driver_memory: str, settings: Mapping[str, str], log: Path | None = None
) -> SparkSession:
    """A session for one application. `settings` are the user's and win over our defaults; what the JVM has to
    say on stderr goes to the file `log`, if there is one."""
    cluster = is_cluster(master)
    choose_python(master, settings)
    wanted = {"spark.master": retrying(master), "spark.app.name": f"dovetail {application}"}
    wanted |= {
        name: value
        for name, value in DEFAULTS.items()
        if not (cluster and name in ("spark.driver.host", "spark.driver.bindAddress"))
    }
    wanted["spark.driver.memory"] = driver_memory
    ours = () if cluster else local_jvm(local_cores(master))
    wanted["spark.driver.extraJavaOptions"] = " ".join([*ours, *java_options()])
    code = None
    if cluster:
        settings, code = cluster_settings(master, settings)
    else:
        wanted["spark.sql.shuffle.partitions"] = str(local_cores(master))
        wanted |= _unix_sockets()
    wanted |= {**settings, **FIXED}
    conf = SparkConf().setAll(list(wanted.items()))
    if SparkContext._gateway is None:
        threading.Thread(target=_import_meanwhile, name="imports", daemon=True).start()
        SparkContext._ensure_initialized(gateway=start_jvm(conf, log), conf=conf)
    with _own_interrupt():
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    if code is not None:
        session.sparkContext.addFile(str(code))
    quiet_accumulators(session.sparkContext)
    session.sparkContext.setLogLevel(settings.get("spark.log.level", "ERROR" if log else "OFF"))
    return session


def local_jvm(cores: int) -> tuple[str, ...]:
    """Options of a JVM that shares this machine with the join."""
    return (*LOCAL_JVM, "-XX:+UseSerialGC" if cores <= FEW_CORES else "-XX:+UseParallelGC")


def driver_address(spark: SparkSession) -> tuple[str, str] | None:
    """Where the driver of a cluster listens, and how executors call that; None on a single host, where every
    index is at hand."""
    context = spark.sparkContext
    if not is_cluster(str(context.master)):
        return None
    conf = context.getConf()
    host = conf.get("spark.driver.host")
    if host is None:
        return None
    return str(conf.get("spark.driver.bindAddress", host)), str(host)


def cluster_settings(master: str, settings: Mapping[str, str]) -> tuple[dict[str, str], Path]:
    """Settings for a session on a cluster, and the file with our code that its executors must get."""
    folder = tempfile.mkdtemp(prefix="dovetail-code-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    code = packed(Path(folder))
    wanted = {**CLUSTER, **_addresses(master), **settings}
    wanted[_PATH] = os.pathsep.join(filter(None, [code.name, settings.get(_PATH)]))
    return wanted, code


def _addresses(master: str) -> dict[str, str]:
    """A cluster on loopback reaches the driver there, whatever this machine's name resolves to."""
    if urlparse(master).hostname not in _LOOPBACK:
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def _unix_sockets() -> dict[str, str]:
    """Rows between the JVM and its workers skip the TCP stack. Spark leaves some of the sockets behind: they
    get a folder that goes with this process."""
    folder = str(process_folder("dovetail-sockets-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if len(folder) > MAX_SOCKET_FOLDER:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself and would end the process in the middle of a step: give it back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start_jvm(conf: SparkConf, log: Path | None) -> Any:
    """As PySpark does it, except that the JVM inherits the lock on the application, its stderr goes to a file
    if one is given, and it looks for no data sources among the installed packages (`_NO_PYTHON`)."""
    with ExitStack() as until_started:
        shared: dict[str, Any] = {"pass_fds": held_locks()}
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            shared["stderr"] = until_started.enter_context(open(log, "ab"))
        drivers = os.environ.get(DRIVER_PYTHON)
        os.environ[DRIVER_PYTHON] = _NO_PYTHON
        try:
            return launch_gateway(conf, popen_kwargs=shared)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise RunError(
                "Spark did not start",
                where=str(log) if log is not None else None,
                expected="a working Java, and access to the packages that the settings name",
                hint="the end of that file says why" if log is not None else None,
            ) from error
        finally:
            if drivers is None:
                del os.environ[DRIVER_PYTHON]
            else:
                os.environ[DRIVER_PYTHON] = drivers


def _import_meanwhile() -> None:
    """What a run needs besides Spark. The JVM takes longer to start than this takes to import."""
    with suppress(Exception):  # the code that needs it imports it again, and reports the error
        import dovetail.pql.compile
        import dovetail.spark.runner  # noqa: F401
