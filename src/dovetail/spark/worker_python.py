"""The Python that Spark starts its workers with.

Spark puts `pyspark.zip` in front of their path. A zip holds no compiled code, so every process compiles
PySpark's sources again, half a second each, and a cold start has ten of them. Workers on this machine can
take PySpark, compiled, from the environment it is installed in. So we start them through a small script that
drops the zips from the path, and has the nursery fork them where there is one (`nursery.py`).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from dovetail.engine.masters import is_cluster
from dovetail.engine.process_folder import hosts_folder
from dovetail.spark.nursery import SOURCE, VARIABLE, await_nursery, open_nursery, with_source

if TYPE_CHECKING:  # the nursery is to import it, not the process that is about to open one
    from pyspark import SparkContext

DRIVER_PYTHON = "PYSPARK_DRIVER_PYTHON"
WORKERS_ENVIRONMENT = "spark.executorEnv."
"""Libraries read their variables when they are imported. Where workers get some of their own, they import by
themselves."""

_SCRIPT = """\
#!/bin/sh
kept=
IFS=:
for part in $PYTHONPATH; do
  case $part in */pyspark.zip | */py4j-*-src.zip) ;; *) kept=$kept${{kept:+:}}$part ;; esac
done
export PYTHONPATH="$kept"
if [ -S "$DOVETAIL_NURSERY" ]; then exec '{python}' -I -S '{client}' "$@"; fi
exec '{python}' "$@"
"""


def choose_python(master: str, settings: Mapping[str, str]) -> None:
    """Let the JVM that this process starts use our Python, unless somebody has chosen another. The nursery
    opens with it: the sooner the better, since its imports take as long as a JVM takes to start."""
    ours = sys.executable if is_cluster(master) else worker_python()
    chosen = os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python") or ours)
    os.environ.setdefault(DRIVER_PYTHON, sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(with_source())  # also where we run from a source tree
    if chosen == ours != sys.executable and not _its_own(settings):
        open_nursery()


def is_lent(context: SparkContext) -> bool:
    """Whether the workers of a session that somebody else made are on this machine, and may use our Python:
    nobody has chosen another one."""
    chosen = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if is_cluster(str(context.master)):
        return False
    return chosen is None or (shutil.which(chosen) or chosen) in (sys.executable, worker_python())


def lend_python(context: SparkContext) -> None:
    """Let the workers of such a session use ours. Its JVM has its environment already: what workers need of
    that goes with what they are sent."""
    context.pythonExec = ours = worker_python()
    context.environment["PYTHONPATH"] = SOURCE
    if ours == sys.executable or _its_own(dict(context.getConf().getAll())):
        return
    if (path := open_nursery()) is not None:
        context.environment[VARIABLE] = path


def await_python(context: SparkContext) -> None:
    """Until the nursery takes orders, if there is one. To be called as late as possible."""
    if (path := context.environment.get(VARIABLE)) is not None:
        await_nursery(path)


def begin_early() -> None:
    """Somebody asks for `dovetail.join`: what this process is about to import, the nursery imports on another
    core meanwhile."""
    pyspark = sys.modules.get("pyspark")
    context = getattr(getattr(pyspark, "SparkContext", None), "_active_spark_context", None)
    if context is not None and is_lent(context):
        lend_python(context)


def _its_own(settings: Mapping[str, str]) -> bool:
    return any(name.startswith(WORKERS_ENVIRONMENT) for name in settings)


def worker_python() -> str:
    """The path of the script for this interpreter, or the interpreter itself where no script can run."""
    client = str(Path(__file__).with_name("nursery_client.py"))
    text = _SCRIPT.format(python=sys.executable, client=client)
    if "'" in sys.executable + client:
        return sys.executable
    folder = hosts_folder()
    script = folder / f"python-{xxhash.xxh3_64_hexdigest(text.encode())}"
    try:
        if not (script.exists() and script.read_text() == text):
            draft = folder / f".python-{os.getpid()}"
            draft.write_text(text)
            draft.chmod(0o700)
            draft.replace(script)
    except OSError:
        return sys.executable
    return str(script) if os.access(script, os.X_OK) else sys.executable  # not on a `noexec` filesystem
