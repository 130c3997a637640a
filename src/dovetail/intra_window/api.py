"""`dovetail.window_join`: rows of two windows with equal keys, as row numbers, over NumPy or Arrow arrays.

    left, right = dovetail.window_join(trades["stock"], quotes["stock"])
    trades.take(left), quotes.take(right)

Law: the pairs are those of an inner join; a null key matches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InputError
from dovetail.intra_window.at_rest import chooser
from dovetail.intra_window.choose import AUTO, chosen
from dovetail.intra_window.join import match, pairs
from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.knobs import Knobs

T = TypeVar("T")


class Pairs(NamedTuple):
    """Row numbers of matching rows, in no order: `left[i]` matches `right[i]`."""

    left: UInt32s
    right: UInt32s


def window_join(
    left_keys: Any,
    right_keys: Any,
    algorithm: str = AUTO,
    threads: int | None = None,
    knobs: Knobs | None = None,
) -> Pairs:
    """All pairs of rows with equal keys. `threads`: by default as many as cores."""
    (left, left_rows), (right, right_rows) = _keys(left_keys, "left"), _keys(right_keys, "right")
    a, b = _joined(algorithm, left, right, threads, lambda name: pairs(left, right, name, threads, knobs))
    return Pairs(_back(a, left_rows), _back(b, right_rows))


def window_join_count(
    left_keys: Any,
    right_keys: Any,
    algorithm: str = AUTO,
    threads: int | None = None,
    knobs: Knobs | None = None,
) -> int:
    """How many pairs there are: none is made."""
    left, right = _keys(left_keys, "left")[0], _keys(right_keys, "right")[0]
    return _joined(
        algorithm, left, right, threads, lambda name: match(left, right, name, threads, knobs), pairs=False
    )


def window_join_chunks(
    left_keys: Any,
    right_keys: Any,
    algorithm: str = AUTO,
    threads: int | None = None,
    knobs: Knobs | None = None,
) -> Iterator[Pairs]:
    """The pairs in chunks of at most `Knobs.chunk_pairs`: the join waits for who takes them, so that memory
    does not grow with the number of matches."""
    (left, left_rows), (right, right_rows) = _keys(left_keys, "left"), _keys(right_keys, "right")
    name = chosen(algorithm, left, right, threads)
    chunks: Queue[Pairs] = Queue(maxsize=8)
    gone = Event()
    failed: list[BaseException] = []

    def take(thread: int, a: UInt32s, b: UInt32s, count: int) -> None:
        chunk = Pairs(_back(a[:count].copy(), left_rows), _back(b[:count].copy(), right_rows))
        while not gone.is_set():
            try:
                return chunks.put(chunk, timeout=0.1)
            except Full:
                continue
        raise _Gone

    def run() -> None:
        try:
            match(left, right, name, threads, knobs, take)
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


def _joined(
    algorithm: str,
    left: NDArray[Any],
    right: NDArray[Any],
    threads: int | None,
    join: Callable[[str], T],
    pairs: bool = True,
) -> T:
    if algorithm != AUTO:
        return join(algorithm)
    return chooser.joined(left, right, threads, join, pairs)[0]


class _Gone(Exception):
    """Nobody takes chunks any more."""


def _keys(keys: Any, name: str) -> tuple[NDArray[Any], UInt32s | None]:
    """Keys as a NumPy array, and the rows they are of where nulls were left out."""
    if isinstance(keys, np.ndarray):
        return keys, None
    if not hasattr(keys, "null_count"):
        raise InputError(
            f"the {name} keys are {type(keys).__name__}", expected="a NumPy array or an Arrow array"
        )
    array = keys.combine_chunks() if hasattr(keys, "combine_chunks") else keys
    if not array.null_count:
        return array.to_numpy(zero_copy_only=False), None
    rows = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)).astype(np.uint32)
    return array.drop_null().to_numpy(zero_copy_only=False), rows


def _back(rows: UInt32s, of: UInt32s | None) -> UInt32s:
    return rows if of is None else of[rows]
