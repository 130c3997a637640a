"""Values as they are written, in the types that a table declares."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MICROSECONDS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
_ZONED = r"(Z|[+-]\d\d:?\d\d)$"


def as_declared(column: pa.ChunkedArray, kind: pa.DataType, times: str) -> pa.ChunkedArray:
    """`times`: what numbers and texts of a TIMESTAMP column mean."""
    if column.type.equals(kind):
        return column
    if not pa.types.is_timestamp(kind):
        return column.cast(kind)
    if times == "iso":
        return _moments(column).cast(kind)
    if times == "seconds":
        column = pc.round(pc.multiply(column, 1e6)).cast(pa.int64())
    else:
        column = pc.multiply_checked(column, MICROSECONDS[times])
    return column.cast(pa.timestamp("us")).cast(kind)


def _moments(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times with a zone, and those without one in UTC."""
    zoned = pc.match_substring_regex(texts, _ZONED)
    nothing, utc = pa.scalar(None, pa.string()), pa.timestamp("us", "UTC")
    without = pc.if_else(zoned, nothing, texts).cast(pa.timestamp("us"))
    if not pc.any(zoned).as_py():
        return pc.assume_timezone(without, "UTC")
    with_zone = pc.if_else(zoned, texts, nothing).cast(utc)
    return pc.coalesce(with_zone, pc.assume_timezone(without, "UTC"))
