"""Law: the Python of a session's workers can run this package, or the call that needs it is refused.

PySpark starts workers with PYSPARK_PYTHON, or with whatever `python3` is on the path. For a script that runs
in a virtual environment that is some other Python, without our package. A session keeps the choice as
`SparkContext.pythonExec` and puts it into every function that it sends to workers. So we can still change it
in a session that exists.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException

from dovetail.engine.masters import is_cluster
from dovetail.engine.shipped_code import packed
from dovetail.errors import RunError
from dovetail.spark.failures import failure_of
from dovetail.spark.worker_python import is_lent, lend_python

NEEDED = ("numba", "numpy", "pyarrow", "xxhash")
_ready: set[str] = set()
"""Spark applications whose workers are known to be able to run this package."""


def make_ready(context: SparkContext) -> None:
    """Let the workers of a session that somebody else made run this package; raises where they cannot."""
    application = context.applicationId
    if application in _ready:
        return
    if is_lent(context):
        # The workers are on this machine and nobody has chosen their Python: take the one that runs here,
        # which has all that it needs. Asking a worker would cost a first start a second or two.
        lend_python(context)
        _ready.add(application)
        return
    if any(missing == "dovetail" for _, missing in _asked(context)):
        folder = tempfile.mkdtemp(prefix="dovetail-code-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        context.addPyFile(str(packed(Path(folder))))
    lacking = [(python, missing) for python, missing in _asked(context) if missing]
    if lacking:
        python, missing = lacking[0]
        raise _unfit(context, f"has no module {missing}", python)
    _ready.add(application)


def _asked(context: SparkContext) -> set[tuple[str, str]]:
    """The Pythons of the workers, each with the first module that it lacks, or nothing."""
    needed = ("dovetail", *NEEDED)

    def look(_: Iterable[int]) -> list[tuple[str, str]]:  # sent as it is: a worker cannot import it from here
        import sys
        from importlib.util import find_spec

        return [(sys.executable, next((name for name in needed if find_spec(name) is None), ""))]

    tasks = context.defaultParallelism if is_cluster(str(context.master)) else 1
    try:
        return set(context.parallelize(range(tasks), tasks).mapPartitions(look).collect())
    except (Py4JError, PySparkException) as error:
        raise _unfit(context, f"fails: {failure_of(error, 'workers').what}", context.pythonExec) from error


def _unfit(context: SparkContext, why: str, python: str) -> RunError:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = "every executor" if is_cluster(str(context.master)) else "this machine"
    return RunError(
        f"the Python of Spark's workers {why}",
        where=f"{python} (asked for as {context.pythonExec})",
        expected=f"Python {version} with {', '.join(NEEDED)} on {place}",
        hint=f"set PYSPARK_PYTHON before the session is made; this process runs {sys.executable}",
    )
