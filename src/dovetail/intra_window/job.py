"""What an algorithm is given besides its keys: threads, settings, and where its matches go.

Law: an algorithm finds the same matches whatever it is asked for; only the cost of handing them on differs.

Threads work in phases: all start a phase together, and the next begins when all are done. Kernels release the
interpreter, so plain Python threads do. An algorithm is asked for a count (`take` is None), or for chunks of
pairs, which it hands to `take` from whichever thread has filled one. The arrays are the thread's own and are
filled again afterwards: copy what you keep.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

import numpy as np

from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.memory import Lent

T = TypeVar("T")
Take = Callable[[int, UInt32s, UInt32s, int], None]
"""`take(thread, left rows, right rows, how many of them count)`."""

Chunk = tuple[UInt32s, UInt32s]


class Stopwatch(Protocol):
    """Measures each thread's time in each phase: the paper's wait, partition, build or sort, merge, probe."""

    def enter(self, thread: int, phase: str) -> None: ...

    def leave(self, thread: int) -> None: ...


class Crew:
    """The threads of one join."""

    def __init__(self, threads: int, stopwatch: Stopwatch | None = None) -> None:
        self.threads = threads
        self.stopwatch = stopwatch
        self._pool = ThreadPoolExecutor(threads - 1, "window-join") if threads > 1 else None

    def phase(self, name: str, work: Callable[[int], T]) -> list[T]:
        """Run `work(thread)` on every thread, including the caller's. Returns when all have returned; if one
        raised an error, raises it then."""
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
        """The thread's equal part of `rows` rows."""
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


class Arrival(Protocol):
    """Rows that arrive during the join (section 4.2.2). `side`: 0 left, 1 right."""

    def ready(self, side: int, start: int, stop: int) -> int:
        """How far in `start..stop` rows have arrived by now."""

    def wait(self, left: int, right: int) -> None:
        """Wait until the next row of either side, from these on, has arrived."""

    def wait_for_all(self) -> None: ...


@dataclass(frozen=True)
class WindowJob:
    """One join: who works on it, how, in which memory, and what becomes of the matches."""

    crew: Crew
    knobs: Knobs
    lent: Lent
    take: Take | None = None
    arrival: Arrival | None = None

    def chunk(self) -> Chunk:
        return np.empty(self.knobs.chunk_pairs, np.uint32), np.empty(self.knobs.chunk_pairs, np.uint32)

    def enter(self, thread: int, phase: str) -> None:
        """From now on the thread is in this phase; noted if there is a stopwatch."""
        if self.crew.stopwatch is not None:
            self.crew.stopwatch.enter(thread, phase)


def drain(
    job: WindowJob, thread: int, fill: Callable[[UInt32s, UInt32s], int], chunk: Chunk | None = None
) -> int:
    """Hand on what `fill` writes, until it leaves room in a chunk. Returns how many pairs there were."""
    assert job.take is not None
    left, right = chunk or job.chunk()
    total = 0
    while True:
        filled = fill(left, right)
        if filled:
            job.take(thread, left, right, filled)
        total += filled
        if filled < len(left):
            return total
