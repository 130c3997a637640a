"""Dovetail: streaming joins as a service, on Apache Spark.

A join is a function `(state, new rows, time) -> matches` that changes only its state; everything else here is
delivery. `dovetail.join` puts it into a PySpark job, by times or within `Tumbling`, `Hopping` or `Session`
windows; the `dovetail` command runs PQL applications; `dovetail.committed_files` says which files of a
Parquet output count. In this process, without Spark: `dovetail.window_join` joins two windows,
`dovetail.SlidingJoin` two streams over sliding windows by any predicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.joins.sliding.engine import SlidingJoin as SlidingJoin
    from dovetail.joins.window.api import window_join as window_join
    from dovetail.joins.window.api import window_join_chunks as window_join_chunks
    from dovetail.joins.window.api import window_join_count as window_join_count
    from dovetail.model.sliding import Window as Window
    from dovetail.spark.api import join as join
    from dovetail.spark.api_windows import Hopping as Hopping
    from dovetail.spark.api_windows import Session as Session
    from dovetail.spark.api_windows import Tumbling as Tumbling
    from dovetail.spark.committed_files import committed_files as committed_files

__version__ = "0.1.0"
__all__ = [
    "Hopping",
    "Session",
    "SlidingJoin",
    "Tumbling",
    "Window",
    "__version__",
    "committed_files",
    "join",
    "window_join",
    "window_join_chunks",
    "window_join_count",
]


def __getattr__(name: str) -> object:
    """Import PySpark only when `dovetail.join` is asked for, and kernels only when a join within this process
    is: `import dovetail` itself stays light."""
    if name in ("window_join", "window_join_chunks", "window_join_count"):
        from dovetail.joins.window import api

        return getattr(api, name)
    if name == "SlidingJoin":
        from dovetail.joins.sliding.engine import SlidingJoin

        return SlidingJoin
    if name == "Window":
        from dovetail.model.sliding import Window

        return Window
    if name in ("Hopping", "Session", "Tumbling"):
        from dovetail.spark import api_windows

        return getattr(api_windows, name)
    if name == "committed_files":
        from dovetail.spark.committed_files import committed_files

        return committed_files
    if name == "join":
        from dovetail.spark.api import join

        return join
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
