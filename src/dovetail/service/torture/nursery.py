"""Processes that need not import anything, because they are forked from one that has, as Spark's workers are.

Otherwise a join of one second would take three. The server they come from is multiprocessing's, which has no
threads; importing this module, which it does before the first fork, loads the kernels.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dovetail import crash_points
from dovetail.engine.warm import warm
from dovetail.service.torture import quick_chain, quick_join  # noqa: F401  (what the processes will run)

warm()


def start(
    target: Callable[..., None], arguments: tuple[Any, ...], environment: Mapping[str, str], log: Path
) -> BaseProcess:
    """Run a function in a process of its own, with its errors in a file."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(target, arguments, dict(environment), str(log)), daemon=True)
    process.start()
    return process


def _run(
    target: Callable[..., None], arguments: tuple[Any, ...], environment: Mapping[str, str], log: str
) -> None:
    with open(log, "a") as file:
        os.dup2(file.fileno(), 2)
    crash_points.arm(environment)
    try:
        target(*arguments)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
