"""Conditions compiled: bands and what they cannot say, in one loop over candidate pairs.

Law: of the pairs (probe, position) with `starts <= position < stops`, exactly those come out that lie within
all dimensions' bounds and for which the condition is true. What cannot be reckoned is null, and null is not
true.

Idea. Rows are looked at by blocks, as in `band.py`: flagged several at once, then collected.

The source of a condition is made elsewhere, from a tree (`joins/theta/compiled.py`); here is the loop around
it, and what numbers mean inside it. Machine code of a source stays in the process: it is not kept on disk, as
that of other kernels is, so each process compiles a condition once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray

from dovetail.joins.theta.kernels.band import BLOCK, grown
from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]
SURELY_FITS, SURELY_NOT = 9.2e18, 9.3e18

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


@kernel
def fits(rough: float, result: int) -> bool:
    """Whether a whole result is the true one, told by the same in floating point. What leaves 64 bits by a
    little comes back with the other sign."""
    size = abs(rough)
    return size < SURELY_FITS or (size < SURELY_NOT and (result < 0) == (rough < 0))


@kernel
def sum_fits(first: int, second: int, result: int) -> bool:
    """A sum that leaves 64 bits has another sign than both its parts."""
    return ((first ^ result) & (second ^ result)) >= 0


@kernel
def difference_fits(first: int, second: int, result: int) -> bool:
    return ((first ^ second) & (first ^ result)) >= 0


@kernel
def remainder(first: np.int64, second: np.int64) -> np.int64:
    """With the sign of the dividend; `second` is not zero."""
    if second == -1:
        return np.int64(0)
    rest = first % second
    if rest != 0 and (first < 0) != (second < 0):
        rest -= second
    return rest


@kernel
def real_less(first: float, second: float) -> bool:
    """NaN is larger than any other number."""
    return first < second or (first == first and second != second)  # noqa: PLR0124


@kernel
def real_equal(first: float, second: float) -> bool:
    return first == second or (first != first and second != second)  # noqa: PLR0124


@kernel
def whole(value: float) -> np.int64:
    """A rounded number as a whole one, where it fits."""
    return np.int64(value) if abs(value) < SURELY_FITS else np.int64(0)


@kernel
def pick(flag: bool, first: Any, second: Any) -> Any:
    """A function and not an expression: the compiler's time grows steeply with the branches of one
    function."""
    return first if flag else second


_KNOWN = {
    "pick": pick,
    "np": np,
    "grown": grown,
    "fits": fits,
    "sum_fits": sum_fits,
    "difference_fits": difference_fits,
    "remainder": remainder,
    "real_less": real_less,
    "real_equal": real_equal,
    "whole": whole,
    "SURELY_FITS": SURELY_FITS,
    "BLOCK": BLOCK,
}
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
    """Whole constants are int64, others float64: the source calls them by name."""
    names: dict[str, Any] = dict(cast("Mapping[str, Any]", _KNOWN))
    for name, value in constants:
        names[name] = np.int64(value) if isinstance(value, int) else np.float64(value)
    exec(source, names)  # our own text, made from a checked tree: no word of it is a user's
    plain = np.errstate(all="ignore")(names["pairs"])
    switched_on = not getattr(numba.config, "DISABLE_JIT", 0)
    machine_code: Any = numba.njit(nogil=True, error_model="numpy")(names["pairs"])

    @functools.wraps(plain)  # which is what runs where the compiler is switched off, and in tests
    def pairs(*arguments: Any) -> tuple[Int64s, Int64s]:
        found: tuple[Int64s, Int64s] = (machine_code if switched_on else plain)(*arguments)
        return found

    return pairs
