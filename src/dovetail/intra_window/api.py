"""`dovetail.window_join`: rows of two windows with equal keys, as row numbers.

    left, right = dovetail.window_join(trades["stock"], quotes["stock"])
    trades.take(left), quotes.take(right)

Law: the pairs are those of an inner join; a null key matches nothing.

Keys are integers, strings, binary, booleans, dates, times, timestamps, durations or decimals: in a NumPy
array, an Arrow array or ChunkedArray, a pandas or Polars Series, or anything else with the Arrow PyCapsule
interface. For a key of several columns pass a sequence of these, a struct array, a table or a data frame;
columns are compared by position. The types of both sides may differ in width or unit (`encode.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

from dovetail.errors import SettingError
from dovetail.intra_window.at_rest import chooser
from dovetail.intra_window.choose import AUTO, chosen
from dovetail.intra_window.encode import Keys, encoded
from dovetail.intra_window.join import by_name, match, pairs, thread_count
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.memory import NOTHING_KEPT, Memory

T = TypeVar("T")


class RowPairs(NamedTuple):
    """Row numbers of matching rows, in no order: `left[i]` matches `right[i]`."""

    left: UInt32s
    right: UInt32s


def window_join(
    left_keys: Any,
    right_keys: Any,
    algorithm: str = AUTO,
    threads: int | None = None,
    knobs: Knobs | None = None,
    memory: Memory = NOTHING_KEPT,
) -> RowPairs:
    """All pairs of rows with equal keys. `threads`: by default one for each core. `memory`: kept for the next
    window that is joined with it."""
    left, right = _checked(left_keys, right_keys, algorithm, threads, knobs, memory)
    a, b = _joined(
        algorithm,
        left,
        right,
        threads,
        lambda name: pairs(left.values, right.values, name, threads, knobs, memory),
    )
    return RowPairs(left.rows_of(a), right.rows_of(b))


def window_join_count(
    left_keys: Any,
    right_keys: Any,
    algorithm: str = AUTO,
    threads: int | None = None,
    knobs: Knobs | None = None,
    memory: Memory = NOTHING_KEPT,
) -> int:
    """How many pairs there are, without making them."""
    left, right = _checked(left_keys, right_keys, algorithm, threads, knobs, memory)
    return _joined(
        algorithm,
        left,
        right,
        threads,
        lambda name: match(left.values, right.values, name, threads, knobs, memory=memory),
        pairs=False,
    )


def window_join_chunks(
    left_keys: Any,
    right_keys: Any,
    algorithm: str = AUTO,
    threads: int | None = None,
    knobs: Knobs | None = None,
) -> Iterator[RowPairs]:
    """The pairs in chunks of at most `Knobs.chunk_pairs`. The join waits until its chunks are taken, so
    memory does not grow with the number of matches."""
    left, right = _checked(left_keys, right_keys, algorithm, threads, knobs)
    return _chunks(left, right, chosen(algorithm, left.values, right.values, threads), threads, knobs)


def _chunks(
    left: Keys, right: Keys, algorithm: str, threads: int | None, knobs: Knobs | None
) -> Iterator[RowPairs]:
    chunks: Queue[RowPairs] = Queue(maxsize=8)
    gone = Event()
    failed: list[BaseException] = []

    def take(thread: int, a: UInt32s, b: UInt32s, count: int) -> None:
        chunk = RowPairs(left.rows_of(a[:count].copy()), right.rows_of(b[:count].copy()))
        while not gone.is_set():
            try:
                return chunks.put(chunk, timeout=0.1)
            except Full:
                continue
        raise _Gone

    def run() -> None:
        try:
            match(left.values, right.values, algorithm, threads, knobs, take)
        except _Gone:
            pass
        except BaseException as error:
            failed.append(error)

    worker = Thread(target=run, name="window-join", daemon=True)
    worker.start()
    try:
        while worker.is_alive() or not chunks.empty():
            try:
                yield chunks.get(timeout=0.05)
            except Empty:
                continue
    finally:
        gone.set()
        worker.join()
    if failed:
        raise failed[0]


class _Gone(Exception):
    """The caller takes no more chunks."""


def _checked(
    left_keys: Any,
    right_keys: Any,
    algorithm: str,
    threads: int | None,
    knobs: Knobs | None,
    memory: Memory = NOTHING_KEPT,
) -> tuple[Keys, Keys]:
    """The keys of both sides; refuses what cannot be joined before anything runs."""
    if algorithm != AUTO:
        by_name(algorithm)
    thread_count(threads)
    if knobs is not None and not isinstance(knobs, Knobs):
        raise SettingError(
            f"knobs are a {type(knobs).__name__}", expected="dovetail.intra_window.knobs.Knobs"
        )
    if not isinstance(memory, Memory):
        raise SettingError(
            f"memory is a {type(memory).__name__}", expected="dovetail.intra_window.memory.Memory"
        )
    return encoded(left_keys, right_keys)


def _joined(
    algorithm: str, left: Keys, right: Keys, threads: int | None, join: Callable[[str], T], pairs: bool = True
) -> T:
    if algorithm != AUTO:
        return join(algorithm)
    return chooser.joined(left.values, right.values, threads, join, pairs)[0]
