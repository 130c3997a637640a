"""Law: a JVM that has died is told as that, whichever call was the first to notice."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext

from dovetail.errors import DovetailError, RunError

_GRACE_S = 2.0
"""A broken connection is seen before the process that broke it is gone."""


def jvm_ended(grace_s: float = 0.0) -> bool:
    """The JVM that this process has started is no more."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def hung_up(error: BaseException) -> bool:
    """Something has failed because there is no JVM any more. PySpark makes all kinds of errors of a call that
    was not answered; what the JVM has answered, or we have said ourselves, is none of them."""
    answered = isinstance(error, Py4JJavaError | DovetailError)
    return jvm_ended(0.0 if answered else _GRACE_S)


@contextmanager
def loss_told(log: Path | None) -> Iterator[None]:
    """Of a run: what it fails with when Spark is gone is not what the user needs to hear, nor are the traces
    that Py4J logs of each call that found it gone."""
    logging.getLogger().addFilter(_no_trace)
    try:
        yield
    except Exception as error:
        if not jvm_ended(_GRACE_S):
            raise
        raise RunError(
            "Spark has ended in the middle of the run",
            where=str(log) if log else "the JVM of the driver",
            expected="a JVM that lives as long as the run",
            hint="it was killed, or had too little memory (DOVETAIL_DRIVER_MEMORY); "
            "start again: the application goes on where it was",
        ) from error
    finally:
        logging.getLogger().removeFilter(_no_trace)


def _no_trace(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command."
