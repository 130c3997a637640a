"""Values as unsigned integers in the same order, and the integers that bound a range of them.

Law: for values `a`, `b` of one column kind, `ordered(a) < ordered(b)` if and only if `a < b` (and -0.0 is 0.0). A bound
that lies outside of the kind's values is moved to its end; where none is left in between, the box is empty.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Unsigned = npt.NDArray[np.unsignedinteger]


def ordered(values: Array) -> Unsigned:
    """Signed integers and floats of four or eight bytes; the result has as many."""
    bits = 8 * values.dtype.itemsize
    unsigned = np.dtype(f"u{values.dtype.itemsize}").type
    top = unsigned(1) << unsigned(bits - 1)
    if values.dtype.kind == "i":
        return np.ascontiguousarray(values).view(unsigned) ^ top
    raw = np.ascontiguousarray(values + values.dtype.type(0)).view(unsigned)  # -0.0 becomes 0.0
    return np.where(raw & top, ~raw, raw | top)


def integer_bounds(
    values: npt.NDArray[np.int64], low: int | None, high: int | None, bits: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """`values + low` and `values + high` (None: no bound) held within integers of so many bits, and where nothing lies
    between them."""
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    lows, low_beyond = _moved(values, low, least)
    highs, high_beyond = _moved(values, high, most)
    empty = (low_beyond > 0) | (high_beyond < 0) | (lows > most) | (highs < least) | (lows > highs)
    return np.clip(lows, least, most), np.clip(highs, least, most), empty


def _moved(
    values: npt.NDArray[np.int64], by: int | None, otherwise: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The sums, and where they are beyond 64 bits: 1 above, -1 below."""
    if by is None:
        return np.full(len(values), otherwise, np.int64), np.zeros(len(values), np.int64)
    ends = np.iinfo(np.int64)
    by = max(min(by, ends.max), ends.min)
    with np.errstate(over="ignore"):
        moved = values + np.int64(by)
    wrapped = moved < values if by >= 0 else moved > values
    moved[wrapped] = ends.max if by >= 0 else ends.min
    return moved, np.where(wrapped, 1 if by >= 0 else -1, 0)


def float_bounds(
    values: npt.NDArray[np.float64], low: float, high: float, kind: type[np.floating]
) -> tuple[Array, Array]:
    """Bounds that leave out no value `v` of the kind for which `values + low <= v <= values + high` may come out true,
    however the sums are rounded, also if it is written the other way round: `v - high <= values <= v - low`."""
    largest = np.maximum(np.abs(values), max(abs(low), abs(high), 1e-300))
    with np.errstate(over="ignore", invalid="ignore"):
        slack = 4 * np.spacing(np.where(np.isfinite(largest), largest, 1.0))
        lows, highs = (values + low) - slack, (values + high) + slack
        lows_of_kind, highs_of_kind = lows.astype(kind), highs.astype(kind)
        lows_of_kind = np.nextafter(lows_of_kind, kind(-np.inf))
        highs_of_kind = np.nextafter(highs_of_kind, kind(np.inf))
    return lows_of_kind, highs_of_kind
