"""What a session on a cluster has that one on this machine has not.

Only what Spark does not do well by itself is set here; all of it can be set otherwise by the user, except
that the shipped code comes first on the executors' path.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlparse

from dovetail.spark.shipped_code import packed

DEFAULTS = {
    # A lost machine fails every task that it had, and its successors may be lost too. Each of our tasks may
    # run any number of times, and a query that gives up has to be started again by hand.
    "spark.task.maxFailures": "8",
    # The number of join tasks is that of the cores that are there when a run begins: wait for most of those
    # that were asked for (spark.cores.max), for at most half a minute.
    "spark.scheduler.minRegisteredResourcesRatio": "0.8",
}
_PATH = "spark.executorEnv.PYTHONPATH"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_cluster(master: str) -> bool:
    return not master.startswith("local")


def cluster_settings(master: str, settings: Mapping[str, str]) -> tuple[dict[str, str], Path]:
    """Settings for a session on a cluster, and the file with our code that its executors must get."""
    folder = tempfile.mkdtemp(prefix="dovetail-code-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    code = packed(Path(folder))
    wanted = {**DEFAULTS, **_addresses(master), **settings}
    wanted[_PATH] = os.pathsep.join(filter(None, [code.name, settings.get(_PATH)]))
    return wanted, code


def _addresses(master: str) -> dict[str, str]:
    """A cluster on loopback reaches the driver there, whatever this machine's name stands for."""
    if urlparse(master).hostname not in _LOOPBACK:
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
