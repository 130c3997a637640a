"""Threads that work in phases: all start one together, and the next begins when all are done.

Law: `phase` returns when every thread has returned; an error of any is raised then.

Kernels release the interpreter, so threads are plain Python threads. With a stopwatch each thread's time in
each phase is kept; without one nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")


class Stopwatch(Protocol):
    """Told when a thread leaves what it was doing, and for what: the paper's wait, partition, build or sort,
    merge, probe."""

    def enter(self, thread: int, phase: str) -> None: ...

    def leave(self, thread: int) -> None: ...


class Crew:
    def __init__(self, threads: int, stopwatch: Stopwatch | None = None) -> None:
        self.threads = threads
        self.stopwatch = stopwatch
        self._pool = ThreadPoolExecutor(threads - 1, "window-join") if threads > 1 else None

    def phase(self, name: str, work: Callable[[int], T]) -> list[T]:
        """`work(thread)` on every thread, the caller's own among them."""
        if self.stopwatch is not None:
            work = _timed(self.stopwatch, name, work)
        if self._pool is None:
            return [work(0)]
        others = [self._pool.submit(work, thread) for thread in range(1, self.threads)]
        try:
            own = work(0)
        finally:
            errors = [other.exception() for other in others]
        for error in errors:
            if error is not None:
                raise error
        return [own, *(other.result() for other in others)]

    def share(self, rows: int, thread: int) -> tuple[int, int]:
        """The thread's equal part of so many rows."""
        return rows * thread // self.threads, rows * (thread + 1) // self.threads

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def _timed(stopwatch: Stopwatch, name: str, work: Callable[[int], T]) -> Callable[[int], T]:
    def timed(thread: int) -> T:
        stopwatch.enter(thread, name)
        try:
            return work(thread)
        finally:
            stopwatch.leave(thread)

    return timed
