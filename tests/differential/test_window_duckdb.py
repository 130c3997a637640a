"""DuckDB as an outside witness of the joins within a window, and the published matches of real ones."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dovetail
from dovetail.intra_window.join import ALGORITHMS, match, pairs
from laws.effort import by_turns
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
    return joined_by_duckdb(*(pa.table({"k": keys}) for keys in shape.draw()))


def joined_by_duckdb(left: pa.Table, right: pa.Table) -> tuple[int, ...]:
    """Pairs with equal values in all columns, and two sums over them that tell wrong partners."""
    keys = ", ".join(left.column_names)
    left, right = (side.append_column("i", pa.array(range(len(side)))) for side in (left, right))
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        found = (
            connection.sql(
                "SELECT count(*), sum((l.i * 31 + r.i * 17) % 1009), sum((l.i * r.i) % 2003) "
                f"FROM l JOIN r USING ({keys})"
            )
            .limit(1)
            .fetchall()
        )
    (sums,) = found
    return tuple(int(value or 0) for value in sums)


@pytest.mark.parametrize(
    ("algorithm", "shape", "threads"),
    by_turns(ALGORITHMS, SHAPES, last=(1, 4)),
    ids=lambda given: f"{given.spread}-{given.dtype}" if isinstance(given, Shape) else str(given),
)
def test_what_duckdb_finds(algorithm: str, shape: Shape, threads: int) -> None:
    assert summed_up(*pairs(*shape.draw(), algorithm, threads)) == of_duckdb(shape), shape


def summed_up(left_rows: np.ndarray, right_rows: np.ndarray) -> tuple[int, ...]:
    left, right = left_rows.astype(np.int64), right_rows.astype(np.int64)
    sums = int(((left * 31 + right * 17) % 1009).sum()), int((left * right % 2003).sum())
    return len(left), *sums


def column(kind: pa.DataType, values: int, rows: int, seed: int) -> pa.Array:
    """One of `values` values in each row, a tenth of them null."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, values, rows)
    if pa.types.is_date(kind):
        found = pa.array((numbers - 50).astype(np.int32))
    elif pa.types.is_timestamp(kind):
        found = pa.array(numbers * 3600 - 100_000).cast(pa.timestamp("s"))
    elif pa.types.is_integer(kind):
        found = pa.array(numbers - (values // 2 if pa.types.is_signed_integer(kind) else 0))
    elif pa.types.is_boolean(kind):
        found = pa.array(numbers % 2 == 0)
    else:
        found = pa.array(numbers).cast(pa.string())
    return pc.if_else(pa.array(rng.random(rows) < 0.9), found.cast(kind), pa.scalar(None, kind))


KINDS = [
    (pa.string(), pa.string()),
    (pa.string(), pa.large_string()),
    (pa.binary(), pa.binary()),
    (pa.bool_(), pa.bool_()),
    (pa.int8(), pa.int8()),
    (pa.int16(), pa.uint16()),
    (pa.uint8(), pa.int64()),
    (pa.int64(), pa.uint64()),
    (pa.date32(), pa.date32()),
    (pa.timestamp("us"), pa.timestamp("us")),
    (pa.timestamp("ms"), pa.timestamp("us")),
    (pa.decimal128(10, 2), pa.decimal128(12, 4)),
]


@pytest.mark.parametrize(("left", "right"), KINDS, ids=str)
def test_keys_of_every_type(left: pa.DataType, right: pa.DataType) -> None:
    tables = [
        pa.table({"k": column(kind, 200 if kind != pa.int8() else 100, 3000, seed)})
        for seed, kind in enumerate((left, right))
    ]
    found = dovetail.window_join(tables[0]["k"], tables[1]["k"])
    assert summed_up(*found) == joined_by_duckdb(*tables)
    assert found.left.size


def test_keys_of_several_columns() -> None:
    kinds = {"a": pa.string(), "b": pa.int64(), "c": pa.timestamp("us"), "d": pa.bool_()}
    tables = [
        pa.table({name: column(kind, 4, 3000, seed + n) for n, (name, kind) in enumerate(kinds.items())})
        for seed in (1, 11)
    ]
    found = dovetail.window_join(*tables)
    assert summed_up(*found) == joined_by_duckdb(*tables)
    assert found.left.size


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
