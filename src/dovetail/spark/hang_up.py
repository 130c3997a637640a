"""Law: when Spark hangs up, whoever listened goes without a word.

Spark runs the driver side of a Python source in a process of its own and closes the connection when the query
ends. The process takes that for a failure and prints a traceback; the reader, which it tells to stop, ends it
first. Likewise with the thread of the driver that listens for accumulators when a session ends.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark import SparkContext
from pyspark.sql.datasource import DataSourceStreamReader


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
