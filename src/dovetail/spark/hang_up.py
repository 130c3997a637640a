"""Law: a query that ends takes its source's process with it, without a word.

Spark runs the driver side of a Python source in a process of its own and closes the connection when the query
ends. The process takes that for a failure and prints a traceback; the reader, which it tells to stop, ends it
first.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql.datasource import DataSourceStreamReader


class QuietReader(DataSourceStreamReader):
    """A stream reader whose process ends quietly when Spark hangs up."""

    def stop(self) -> None:
        if isinstance(sys.exc_info()[1], EOFError | BrokenPipeError | ConnectionResetError):
            os._exit(0)
