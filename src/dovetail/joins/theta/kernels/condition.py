"""Conditions compiled: bands and what they cannot say, in one loop over candidate pairs.

Law: of the pairs (probe, position) with `starts <= position < stops`, exactly those come out that lie within
all dimensions' bounds and for which the condition is true.

Idea. Rows are looked at by blocks, as in `band.py`: flagged several at once, then collected.

The lines of a condition are written elsewhere, from a tree (`joins/theta/compiled.py`); here is the loop
around them. Machine code of a source stays in the process: it is not kept on disk, as that of other kernels
is, so each process compiles a condition once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from dovetail.joins.theta.kernels.band import BLOCK, grown
from dovetail.predicates.kernels.numbers import function_of

Int64s = NDArray[np.int64]

_SOURCE = """
def pairs(starts, stops, lows, highs, values{arguments}):
    room = BLOCK
    probing, at = np.empty(room, np.int64), np.empty(room, np.int64)
    flags = np.empty(BLOCK, np.bool_)
    eights = flags.view(np.int64)
    found = 0
    for i in range(len(starts)):
{probe}
        for begin in range(starts[i], stops[i], BLOCK):
            count = min(BLOCK, stops[i] - begin)
{block}
            for j in range(count):
{every}
                flags[j] = {likely}
            flags[count : (count + 7) & ~7] = False
            if found + count > room:
                room = 2 * room + count
                probing, at = grown(probing, room), grown(at, room)
            for eight in range(0, count, 8):
                if eights[eight >> 3] != 0:
                    for j in range(eight, eight + 8):
                        if flags[j]:
{some}
                            if {surely}:
                                probing[found], at[found] = i, begin + j
                                found += 1
    return probing[:found], at[:found]
"""


Pairs = Callable[..., tuple[Int64s, Int64s]]


def source_of(
    dimensions: int,
    probe: list[str],
    block: list[str],
    row: list[str],
    body: list[str],
    verdict: str,
    arguments: list[str],
) -> str:
    """The loop over candidates around the lines that read a probe, a block of rows, a row, and evaluate both.
    With bands these flag the rows, and only those flagged are evaluated; without, all are."""
    evaluated, within = [*row, *body], []
    for d in range(dimensions):
        probe = [*probe, f"low_{d} = lows[{d}, i]", f"reach_{d} = np.uint64(highs[{d}, i] - low_{d})"]
        probe.append(f"if highs[{d}, i] < low_{d}:\n            continue")
        block = [*block, f"near_{d} = values[{d}, begin : begin + count]"]
        within.append(f"(np.uint64(near_{d}[j] - low_{d}) <= reach_{d})")

    def lines(some: list[str], indent: int) -> str:
        return "\n".join(" " * indent + line for line in some) or " " * indent + "pass"

    return _SOURCE.format(
        arguments="".join(f", {name}" for name in arguments),
        probe=lines(probe, 8),
        block=lines(block, 12),
        every=lines([] if within else evaluated, 16),
        likely=" & ".join(within) or verdict,
        some=lines(evaluated if within else [], 28),
        surely=verdict if within else "True",
    )


@functools.lru_cache(maxsize=64)
def compiled(source: str, constants: tuple[tuple[str, int | float], ...]) -> Pairs:
    """The loop that a source describes."""
    function = function_of(source, "pairs", constants, grown=grown, BLOCK=BLOCK)
    plain = np.errstate(all="ignore")(function)
    switched_on = not getattr(numba.config, "DISABLE_JIT", 0)
    machine_code: Any = numba.njit(nogil=True, error_model="numpy")(function)

    @functools.wraps(plain)  # which is what runs where the compiler is switched off, and in tests
    def pairs(*arguments: Any) -> tuple[Int64s, Int64s]:
        found: tuple[Int64s, Int64s] = (machine_code if switched_on else plain)(*arguments)
        return found

    return pairs
