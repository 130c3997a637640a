"""How every kernel is compiled.

`nogil` lets threads run kernels side by side, `cache` keeps the machine code on disk between processes (Spark
starts many), `boundscheck` stays off: the laws in tests/ are what keeps the indices in range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel at its first call (or load it from the cache)."""
    return cast("Callable[P, R]", numba.njit(nogil=True, cache=True)(function))
