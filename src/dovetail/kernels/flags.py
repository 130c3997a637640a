"""How every kernel is compiled.

`nogil` lets threads run kernels side by side, `cache` keeps the machine code on disk between processes (Spark
starts many), `boundscheck` stays off: the laws in tests/ are what keeps the indices in range.

Kernels are compiled into those that call them, but Numba looks only at the file of the one that is called: a
change elsewhere would leave old code in place. So the stamp of every cache file is one of all kernels'
sources.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def _stamp() -> str:
    package = Path(__file__).parent.parent
    sources = hashlib.blake2b(digest_size=16)
    for file in sorted(package.glob("**/kernels/*.py")):
        sources.update(f"{file.relative_to(package)}\0".encode())
        sources.update(file.read_bytes())
    return sources.hexdigest()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel at its first call (or load it from the cache)."""
    return _compiled(function)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that only kernels call: without a way in from Python, which for functions of many arrays is
    much of what compiling takes."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def borrowing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that makes no arrays and counts no references to those it is given: its caller in Python holds
    them. Where small kernels hand tuples of arrays to each other for every row, counting costs more than the
    work: three quarters of a join core's time, in a profile. It may call other borrowing kernels only."""
    return _compiled(function, _nrt=False)


def inner_borrowing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Both."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def folded_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A small inner borrowing kernel that the compiler must fold into those that call it. Handed a tuple of
    arrays, a call copies about a hundred words, which folding leaves out; folding all that is large would
    double the time of compiling."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)


def inlined_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """One that becomes part of those that call it: for borrowing kernels the only way to be handed a piece of
    an array."""
    return _compiled(function, inline="always")


def _compiled(function: Callable[P, R], **flags: Any) -> Callable[P, R]:
    made: Any = numba.njit(nogil=True, cache=True, **flags)(function)
    if hasattr(made, "_cache"):  # not where the compiler is switched off
        made._cache._cache_file._version = f"{numba.__version__} {_stamp()}"
    return cast("Callable[P, R]", made)
