"""Law: when Spark hangs up, its listeners end silently, and a JVM that died is named as the cause.

Spark runs the driver side of a Python source in a process of its own and closes the connection when the query
ends. The process takes that for a failure and prints a traceback. The reader, which it asks to stop, ends it
first. The driver's thread that listens for accumulators does the same when a session ends. A JVM that dies
breaks every running call: whichever notices first, the error that the user sees is about the JVM.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql.datasource import DataSourceStreamReader

from dovetail.errors import DovetailError, RunError

_GRACE_S = 2.0
"""A broken connection is seen before the process that broke it is gone."""


class QuietReader(DataSourceStreamReader):
    """A stream reader whose process ends quietly when Spark hangs up."""

    def stop(self) -> None:
        if isinstance(sys.exc_info()[1], EOFError | BrokenPipeError | ConnectionResetError):
            os._exit(0)


def quiet_accumulators(context: SparkContext) -> None:
    """Let the driver's server of accumulators end quietly when the JVM hangs up."""
    server = context._accumulatorServer
    tell = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError):
            tell(request, client_address)

    server.handle_error = handle_error  # type: ignore[method-assign]


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
    """Something has failed because the JVM is gone. PySpark raises all kinds of errors for a call without an
    answer. What the JVM has answered, or we have raised ourselves, is none of them."""
    answered = isinstance(error, Py4JJavaError | DovetailError)
    return jvm_ended(0.0 if answered else _GRACE_S)


@contextmanager
def loss_named(log: Path | None) -> Iterator[None]:
    """Around a run: if Spark is gone, raise that and not what the run failed with, and drop the traces that
    Py4J logs for each call that found it gone."""
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
