"""DuckDB as an outside witness of the joins within a window, and the published matches of real ones."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dovetail.intra_window.join import ALGORITHMS, match, pairs
from window_keys import Shape

every = pytest.mark.parametrize("algorithm", ALGORITHMS)
SHAPES = (
    Shape(30_000, 20_000, 1000, 1.0, "edges", "int64", seed=1),
    Shape(20_000, 30_000, 20_000, 0.0, "pattern", "uint32", seed=2),
    Shape(20_000, 20_000, 20, 0.0, "dense", "int32", seed=3),
    Shape(900, 1000, 1, 0.0, "edges", "uint64", seed=4),
)


@cache
def of_duckdb(shape: Shape) -> tuple[int, ...]:
    """Pairs, and two sums over them that tell wrong partners."""
    left, right = (pa.table({"k": keys, "i": np.arange(len(keys))}) for keys in shape.draw())
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        found = (
            connection.sql(
                "SELECT count(*), sum((l.i * 31 + r.i * 17) % 1009), sum((l.i * r.i) % 2003) "
                "FROM l JOIN r USING (k)"
            )
            .limit(1)
            .fetchall()
        )
    (sums,) = found
    return tuple(int(value or 0) for value in sums)


@every
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.spread}-{shape.dtype}")
@pytest.mark.parametrize("threads", [1, 4])
def test_what_duckdb_finds(algorithm: str, shape: Shape, threads: int) -> None:
    left, right = (rows.astype(np.int64) for rows in pairs(*shape.draw(), algorithm, threads))
    sums = int(((left * 31 + right * 17) % 1009).sum()), int((left * right % 2003).sum())
    assert (len(left), *sums) == of_duckdb(shape), shape


def stock(name: str) -> np.ndarray:
    folder = Path(os.environ.get("WINDOW_DATA", Path(__file__).parents[3] / "shared/data"))
    path = folder / "stock" / name
    if not path.exists():
        pytest.skip(f"the published Stock files are not at {path}")
    return np.loadtxt(path, np.int32, delimiter="|", usecols=0)


@every
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_published_stock_window(algorithm: str, threads: int) -> None:
    left, right = stock("cj_1000ms_1t.txt"), stock("sb_1000ms_1t.txt")
    assert (len(left), len(right)) == (60_527, 77_227)
    assert match(left, right, algorithm, threads) == 15_598_112
