"""Dovetail: streaming joins as a service, on Apache Spark.

A join is a function `(state, new rows, time) -> matches` that changes only its state; everything else here is
delivery. `dovetail.join` puts it into a PySpark job, by times or within `Tumbling`, `Hopping` or `Session`
windows; the `dovetail` command runs PQL applications; `dovetail.log.writer` appends rows to their inputs, and
`dovetail.committed_files` says which files of a Parquet output count. `dovetail.Client` calls the service. In
this process, without Spark: `dovetail.window_join` joins two windows, `dovetail.SlidingJoin` two streams over
sliding windows by any predicate, and `dovetail.lock_step_join` has them meet on an emulated chip.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail import log as log
    from dovetail.intra_window.api import window_join as window_join
    from dovetail.intra_window.api import window_join_chunks as window_join_chunks
    from dovetail.intra_window.api import window_join_count as window_join_count
    from dovetail.model.sliding import Window as Window
    from dovetail.plan.dataframes.windows import Hopping as Hopping
    from dovetail.plan.dataframes.windows import Session as Session
    from dovetail.plan.dataframes.windows import Tumbling as Tumbling
    from dovetail.service.client import Client as Client
    from dovetail.service.committed_files import committed_files as committed_files
    from dovetail.sliding.circuit import lock_step_join as lock_step_join
    from dovetail.sliding.engine import SlidingJoin as SlidingJoin
    from dovetail.sliding.lock_step import Chip as Chip
    from dovetail.spark.api import join as join

__version__ = "0.1.0"
__all__ = [
    "Chip",
    "Client",
    "Hopping",
    "Session",
    "SlidingJoin",
    "Tumbling",
    "Window",
    "__version__",
    "committed_files",
    "join",
    "lock_step_join",
    "log",
    "window_join",
    "window_join_chunks",
    "window_join_count",
]


_HOMES = {
    "Chip": "dovetail.sliding.lock_step",
    "Client": "dovetail.service.client",
    "Hopping": "dovetail.plan.dataframes.windows",
    "Session": "dovetail.plan.dataframes.windows",
    "SlidingJoin": "dovetail.sliding.engine",
    "Tumbling": "dovetail.plan.dataframes.windows",
    "Window": "dovetail.model.sliding",
    "committed_files": "dovetail.service.committed_files",
    "join": "dovetail.spark.api",
    "lock_step_join": "dovetail.sliding.circuit",
    "window_join": "dovetail.intra_window.api",
    "window_join_chunks": "dovetail.intra_window.api",
    "window_join_count": "dovetail.intra_window.api",
}
"""The module that defines each name."""
_ROOMS = ("log",)
"""Packages that programs use by their own name: `dovetail.log.writer`."""


def __getattr__(name: str) -> object:
    """Import PySpark only when `dovetail.join` is asked for, and kernels only when a join within this process
    is: `import dovetail` itself stays light."""
    if name in _ROOMS:
        return importlib.import_module(f"dovetail.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
    if name == "join":
        importlib.import_module("dovetail.spark.worker_python").begin_early()
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What completion offers, including names that are not imported yet."""
    return ["__version__", *_HOMES, *_ROOMS]
