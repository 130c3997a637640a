"""Keys of any integer type, as the 32 bits that the algorithms join by.

Law: two rows with equal keys have equal narrow keys; where `exact`, the converse holds too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InputError
from dovetail.intra_window.job import Crew
from dovetail.intra_window.kernels.packed import UInt32s, above, hashed, span
from dovetail.intra_window.kernels.table import MOST_ROWS


@dataclass(frozen=True)
class NarrowKeys:
    left: UInt32s
    right: UInt32s
    exact: bool


def checked(left: NDArray[Any], right: NDArray[Any]) -> None:
    """Refuse what cannot be joined."""
    for name, keys in (("left", left), ("right", right)):
        if keys.ndim != 1 or keys.dtype.kind not in "iu" or keys.dtype.itemsize not in (4, 8):
            raise InputError(
                f"the {name} keys are {keys.dtype}, of {keys.ndim} dimensions",
                expected="one dimension of integers of 32 or 64 bits",
                hint="dovetail.window_join takes keys of other types",
            )
        if len(keys) > MOST_ROWS:
            raise InputError(f"the {name} side has {len(keys)} rows", expected=f"at most {MOST_ROWS}")
    if left.dtype != right.dtype:
        raise InputError(
            f"keys of unlike types: {left.dtype} and {right.dtype}",
            expected="the same type on both sides",
            hint=f"cast both to {np.result_type(left, right)}",
        )


def narrow(left: NDArray[Any], right: NDArray[Any], crew: Crew) -> NarrowKeys:
    if left.dtype.itemsize == 4:
        return NarrowKeys(_unsigned(left), _unsigned(right), exact=True)
    if not len(left) or not len(right):
        nothing = np.empty(0, np.uint32)
        return NarrowKeys(nothing, nothing, exact=True)
    sides = [np.ascontiguousarray(left), np.ascontiguousarray(right)]
    least, most = key_span(crew, *sides)
    exact = most - least < 1 << 32
    outs = [np.empty(len(keys), np.uint32) for keys in sides]
    base = np.uint64(least % (1 << 64))

    def convert(thread: int) -> None:
        for keys, out in zip(sides, outs, strict=True):
            start, stop = crew.share(len(keys), thread)
            if exact:
                above(keys.view(np.uint64), base, start, stop, out)
            else:
                hashed(keys.view(np.uint64), start, stop, out)

    crew.phase("partition", convert)
    return NarrowKeys(outs[0], outs[1], exact)


def _unsigned(keys: NDArray[Any]) -> UInt32s:
    """Arrays that Arrow owns are read-only. Numba would compile every kernel once more for these, which costs
    far more than a copy."""
    whole = np.ascontiguousarray(keys)
    return (whole if whole.flags.writeable else whole.copy()).view(np.uint32)


def key_span(crew: Crew, left: NDArray[Any], right: NDArray[Any]) -> tuple[int, int]:
    """The smallest and the largest key; neither side is empty."""

    def look(thread: int) -> list[tuple[int, int]]:
        shares = [(keys, *crew.share(len(keys), thread)) for keys in (left, right)]
        return [span(keys, start, stop) for keys, start, stop in shares if start < stop]

    found = [ends for share in crew.phase("partition", look) for ends in share]
    return int(min(least for least, _ in found)), int(max(most for _, most in found))
