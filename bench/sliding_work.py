"""The papers' benchmark: R(x int, y float, z char[20]) and S(a int, b float, c double, d bool), uniform
values from 1 to 10,000, a band of 10 either way in two dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

BAND = "abs(left.x - right.a) <= 10 and abs(left.y - right.b) <= 10"
EQUAL = "left.x == right.a"
DOMAIN = 10_000
R = pa.schema([("x", pa.int32()), ("y", pa.float32()), ("z", pa.binary(20)), ("t", pa.int64())])
S = pa.schema(
    [("a", pa.int32()), ("b", pa.float32()), ("c", pa.float64()), ("d", pa.bool_()), ("t", pa.int64())]
)


def rows_r(rng: np.random.Generator, rows: int, domain: int, times: Any) -> pa.RecordBatch:
    text = pa.Array.from_buffers(pa.binary(20), rows, [None, pa.py_buffer(rng.bytes(20 * rows))])
    x, y = rng.integers(1, domain + 1, rows).astype(np.int32), _real(rng, rows, domain)
    return pa.RecordBatch.from_arrays([pa.array(x), pa.array(y), text, pa.array(times)], schema=R)


def rows_s(rng: np.random.Generator, rows: int, domain: int, times: Any) -> pa.RecordBatch:
    a, b = rng.integers(1, domain + 1, rows).astype(np.int32), _real(rng, rows, domain)
    c, d = rng.random(rows), rng.random(rows) < 0.5
    return pa.RecordBatch.from_arrays([pa.array(v) for v in (a, b, c, d, times)], schema=S)


def _real(rng: np.random.Generator, rows: int, domain: int) -> Any:
    return (1 + rng.random(rows) * (domain - 1)).astype(np.float32)


def arrivals(
    seed: int, rows: int, batch: int, domain: int = DOMAIN, first_time: int = 0
) -> Iterator[dict[str, pa.RecordBatch]]:
    """Batches of both streams by turns, `rows` in all; time goes on by one a row."""
    rng = np.random.default_rng(seed)
    now, left = first_time, True
    while rows > 0:
        size = min(batch, rows)
        times = np.arange(now, now + size)
        if left:
            yield {"left": rows_r(rng, size, domain, times)}
        else:
            yield {"right": rows_s(rng, size, domain, times)}
        now, rows, left = now + size, rows - size, not left
