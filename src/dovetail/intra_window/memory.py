"""Memory that one join hands on to the next.

Law: while a join has an array, nobody else has a byte of it. What is in a lent array is whatever was there.

Fresh memory can cost more than the work that is done in it: the system clears its pages, and in a virtual
machine it may first have to get them from the host. Windows that follow each other need about the same again.
So a program that joins many of them keeps a `Memory` and passes it to `match`; a single join keeps nothing.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.intra_window.kernels.packed import UInt64s

_LINE_BYTES = 64
_LEAST_BYTES = 1 << 16
Block = NDArray[np.uint8]


class Memory:
    """Keeps up to `most_bytes` between joins; joins may run at the same time."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._free: dict[int, list[Block]] = {}
        self._lock = threading.Lock()
        self.kept_bytes = 0

    def lent(self) -> Lent:
        """What one join gets from it."""
        return Lent(self)

    def take(self, size: int) -> Block:
        with self._lock:
            blocks = self._free.get(size)
            if blocks:
                self.kept_bytes -= size
                return blocks.pop()
        return np.empty(size + _LINE_BYTES, np.uint8)

    def give_back(self, blocks: list[tuple[int, Block]]) -> None:
        """What the last join used stays, if there is room for it; for that, other sizes go."""
        with self._lock:
            wanted = sum(size for size, _ in blocks)
            if self.kept_bytes + wanted > self._most_bytes:
                self._free, self.kept_bytes = {}, 0
            for size, block in blocks:
                if self.kept_bytes + size <= self._most_bytes:
                    self._free.setdefault(size, []).append(block)
                    self.kept_bytes += size


NOTHING_KEPT = Memory(0)


class Lent:
    """The arrays of one join. They are valid until it ends."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._blocks: list[tuple[int, Block]] = []

    def empty(self, length: int, kind: type[np.generic]) -> NDArray[Any]:
        """An array that begins where a cache line does."""
        needed = length * np.dtype(kind).itemsize
        # Powers of two, so that a window of a few rows more finds the last one's memory. What is not touched
        # takes up no memory.
        size = max(_LEAST_BYTES, 1 << max(0, needed - 1).bit_length())
        block = self._memory.take(size)
        self._blocks.append((size, block))  # appending is atomic: threads of a join need no lock
        skip = -block.ctypes.data % _LINE_BYTES
        return block[skip : skip + needed].view(kind)

    def zeros(self, length: int, kind: type[np.generic]) -> NDArray[Any]:
        made = self.empty(length, kind)
        made.fill(0)
        return made

    def words(self, rows: int) -> UInt64s:
        """For rows, a word each."""
        return self.empty(rows, np.uint64)

    def __enter__(self) -> Lent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._memory.give_back(self._blocks)
        self._blocks = []
