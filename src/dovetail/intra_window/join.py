"""The joins within a window by name, and their results: a count, a checksum or pairs.

Law: every algorithm gives the same matches, for every number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import SettingError
from dovetail.intra_window.eager import EAGER
from dovetail.intra_window.job import Arrival, Crew, Stopwatch, Take, WindowJob
from dovetail.intra_window.kernels.packed import UInt32s, checksum, verified
from dovetail.intra_window.keys import checked, narrow
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.memory import NOTHING_KEPT, Memory
from dovetail.intra_window.mpass import mpass
from dovetail.intra_window.mway import mway
from dovetail.intra_window.npj import npj
from dovetail.intra_window.prj import prj

LAZY = {"npj": npj, "prj": prj, "mway": mway, "mpass": mpass}
ALGORITHMS = (*LAZY, *EAGER)
MOST_THREADS = 64


def match(
    left: NDArray[Any],
    right: NDArray[Any],
    algorithm: str,
    threads: int | None = None,
    knobs: Knobs | None = None,
    take: Take | None = None,
    stopwatch: Stopwatch | None = None,
    arrival: Arrival | None = None,
    memory: Memory = NOTHING_KEPT,
) -> int:
    """How many pairs of rows have equal keys; `take` also gets the pairs, in chunks. `memory` is used again
    by the next join that is given it."""
    checked(left, right)
    with Crew(thread_count(threads), stopwatch) as crew, memory.lent() as lent:
        keys = narrow(left, right, crew)
        run = by_name(algorithm)
        job = WindowJob(crew, knobs or Knobs(), lent, take, arrival)
        if arrival is not None and algorithm in LAZY:
            crew.phase("wait", lambda thread: arrival.wait_for_all())
        if keys.exact:
            return run(keys.left, keys.right, job)
        sure = _Verifying(left, right, take)
        run(keys.left, keys.right, replace(job, take=sure.take))
        return sure.total


class _Verifying:
    """Candidates by hash: hands on those whose keys are equal."""

    def __init__(self, left: NDArray[Any], right: NDArray[Any], take: Take | None) -> None:
        self._left = np.ascontiguousarray(left).view(np.uint64)
        self._right = np.ascontiguousarray(right).view(np.uint64)
        self._take = take
        self._lock = threading.Lock()
        self.total = 0

    def take(self, thread: int, left: UInt32s, right: UInt32s, count: int) -> None:
        kept = verified(self._left, self._right, left, right, count)
        with self._lock:
            self.total += kept
        if self._take is not None and kept:
            self._take(thread, left, right, kept)


def by_name(algorithm: str) -> Callable[[UInt32s, UInt32s, WindowJob], int]:
    if algorithm not in ALGORITHMS:
        raise SettingError(
            f"there is no window join {algorithm!r}", expected=", ".join(("auto", *ALGORITHMS))
        )
    return {**LAZY, **EAGER}[algorithm]


def thread_count(threads: int | None) -> int:
    """One for each core, by default."""
    if threads is None:
        return min(MOST_THREADS, os.cpu_count() or 1)
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise SettingError(f"{threads!r} threads", expected=f"a whole number from 1 to {MOST_THREADS}")
    return threads


def pairs(
    left: NDArray[Any],
    right: NDArray[Any],
    algorithm: str,
    threads: int | None = None,
    knobs: Knobs | None = None,
    memory: Memory = NOTHING_KEPT,
) -> tuple[UInt32s, UInt32s]:
    """All pairs at once, in no order."""
    lock = threading.Lock()
    lefts: list[UInt32s] = [np.empty(0, np.uint32)]
    rights: list[UInt32s] = [np.empty(0, np.uint32)]

    def keep(thread: int, a: UInt32s, b: UInt32s, count: int) -> None:
        with lock:
            lefts.append(a[:count].copy())
            rights.append(b[:count].copy())

    match(left, right, algorithm, threads, knobs, keep, memory=memory)
    return np.concatenate(lefts), np.concatenate(rights)


def summed(
    left: NDArray[Any],
    right: NDArray[Any],
    algorithm: str,
    threads: int | None = None,
    knobs: Knobs | None = None,
) -> tuple[int, int]:
    """How many pairs, and a checksum over them: looks at every pair and keeps none."""
    lock = threading.Lock()
    total = 0

    def add(thread: int, a: UInt32s, b: UInt32s, count: int) -> None:
        nonlocal total
        more = int(checksum(a, b, count))
        with lock:
            total = (total + more) % (1 << 64)

    return match(left, right, algorithm, threads, knobs, add), total
