"""Both sides dealt out into partitions by all threads: count, agree on places, move.

Law: partition p of a side is `words[begins[p * pieces]:begins[(p + 1) * pieces]]`, and within it the rows
of each piece of the input are together, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.intra_window.job import WindowJob
from dovetail.intra_window.kernels.packed import Int64s, UInt32s, UInt64s
from dovetail.intra_window.kernels.radix import Cut, histogram, scatter


@dataclass(frozen=True)
class Partitioned:
    words: UInt64s
    begins: Int64s
    """Where each (partition, piece) begins, and the end."""

    pieces: int

    @property
    def bounds(self) -> Int64s:
        """Where each partition begins, and the end."""
        return self.begins[:: self.pieces]


def partition(job: WindowJob, sides: tuple[UInt32s, UInt32s], cut: Cut, pieces: int) -> list[Partitioned]:
    """`pieces`: into how many equal parts each side is cut; threads work on whole pieces."""
    crew = job.crew
    counts = [np.zeros((pieces, cut.parts), np.int64) for _ in sides]
    outs = [job.lent.words(len(keys)) for keys in sides]

    def edges(keys: UInt32s, piece: int) -> tuple[int, int]:
        return len(keys) * piece // pieces, len(keys) * (piece + 1) // pieces

    def count(thread: int) -> None:
        for keys, found in zip(sides, counts, strict=True):
            for piece in range(*crew.share(pieces, thread)):
                histogram(keys, *edges(keys, piece), cut, found[piece])

    crew.phase("partition", count)
    begins = [np.concatenate([[0], np.cumsum(found.T.reshape(-1))]) for found in counts]

    def move(thread: int) -> None:
        for keys, places, out in zip(sides, begins, outs, strict=True):
            for piece in range(*crew.share(pieces, thread)):
                scatter(keys, *edges(keys, piece), cut, places[piece:-1:pieces].copy(), out)

    crew.phase("partition", move)
    return [Partitioned(out, places, pieces) for out, places in zip(outs, begins, strict=True)]
