"""Rows looked up in a table equal what DuckDB joins: plain, and as of a time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dovetail.lookup import key_index
from dovetail.lookup.key_index import KeyIndex
from dovetail.lookup.looked_up import TableInMemory
from dovetail.model.lookup import LookedUp, LookupKey, LookupSpec, LookupType

ID = {"id": "id"}
MOMENT = pa.timestamp("us", "UTC")
EPOCH = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)


def moments(seconds: Sequence[int | None]) -> pa.Array:
    known = [None if s is None else EPOCH + datetime.timedelta(seconds=int(s)) for s in seconds]
    return pa.array(known, MOMENT)


def with_nulls(rng: np.random.Generator, values: Sequence[Any]) -> list[Any]:
    return [None if rng.random() < 0.1 else value for value in values]


def random_keys(rng: np.random.Generator, count: int, kind: str) -> pa.Array:
    drawn = rng.integers(0, 12, count)
    made = {
        "bigint": lambda: pa.array(with_nulls(rng, drawn.tolist()), pa.int64()),
        "string": lambda: pa.array(with_nulls(rng, [f"key {d % 5}" * (d % 3) for d in drawn])),
        "date": lambda: pa.array(with_nulls(rng, drawn.tolist()), pa.int32()).cast(pa.date32()),
        "decimal": lambda: pa.array(with_nulls(rng, drawn.tolist()), pa.int64()).cast(pa.decimal128(22, 2)),
        "boolean": lambda: pa.array(with_nulls(rng, (drawn % 2 == 0).tolist())),
    }
    return made[kind]()


def spec(keys: int, how: LookupType, *, as_of: bool, until: bool = False) -> LookupSpec:
    return LookupSpec(
        how,
        tuple(LookupKey(f"k{i}", f"k{i}", "") for i in range(keys)),
        (LookedUp("name", "name"), LookedUp("list", "list")),
        "t" if as_of else None,
        "since" if as_of else None,
        "until" if until else None,
    )


def tables(rng: np.random.Generator, kinds: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    rows, stored = int(rng.integers(0, 60)), int(rng.integers(0, 40))
    stream = {f"k{i}": random_keys(rng, rows, kind) for i, kind in enumerate(kinds)}
    table = {f"k{i}": random_keys(rng, stored, kind) for i, kind in enumerate(kinds)}
    since = rng.permutation(1000)[:stored]  # DuckDB may pick any of two versions of one moment
    return (
        pa.table(
            {**stream, "id": np.arange(rows), "t": moments(with_nulls(rng, rng.integers(0, 1000, rows)))}
        ),
        pa.table(
            {
                **table,
                "name": [f"name {i}" for i in range(stored)],
                "list": pa.array([[i, i] for i in range(stored)], pa.list_(pa.int64())),
                "since": moments(with_nulls(rng, since)),
                "until": moments(with_nulls(rng, since + rng.integers(0, 300, stored))),
            }
        ),
    )


def found(rows: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(rows[name].to_pylist() for name in ("id", "name", "list")), strict=True), key=str)


@pytest.mark.parametrize(
    "kinds", [["bigint"], ["string"], ["string", "bigint"], ["date", "boolean"], ["decimal"]]
)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("as_of", [False, True])
def test_equals_duckdb(kinds: list[str], how: LookupType, as_of: bool) -> None:
    join = " AND ".join(f"s.k{i} = u.k{i}" for i in range(len(kinds)))
    for seed in range(8):
        stream, table = tables(np.random.default_rng(seed), kinds)
        types = [stream[f"k{i}"].type for i in range(len(kinds))]
        made = TableInMemory(table, spec(len(kinds), how, as_of=as_of), types).add_to(stream, ID)
        asof, when = ("ASOF", " AND s.t >= u.since") if as_of else ("", "")
        with duckdb.connect() as db:
            db.register("s", stream)
            db.register("u", table)
            sql = f"SELECT s.id, u.name, u.list FROM s {asof} {how} JOIN u ON {join}{when}"
            expected = db.sql(sql).to_arrow_table()
        assert found(made) == found(expected), seed
        assert made["id"].to_pylist() == sorted(made["id"].to_pylist()), "in the order of the stream"


def test_a_version_ends_where_it_says() -> None:
    for seed in range(20):
        stream, table = tables(np.random.default_rng(seed), ["bigint"])
        made = TableInMemory(table, spec(1, "left", as_of=True, until=True), [pa.int64()]).add_to(stream, ID)
        with duckdb.connect() as db:
            db.register("s", stream)
            db.register("u", table)
            inner = (
                "SELECT s.id, u.name, u.list, u.until > s.t OR u.until IS NULL AS holds "
                "FROM s ASOF JOIN u ON s.k0 = u.k0 AND s.t >= u.since"
            )
            expected = db.sql(
                f"SELECT s.id, v.name, v.list FROM s LEFT JOIN (FROM ({inner}) WHERE holds) v USING (id)"
            ).to_arrow_table()
        assert found(made) == found(expected), seed


def test_of_two_versions_since_one_moment_the_later_one_counts() -> None:
    table = pa.table(
        {"k0": [1, 1, 1], "name": ["a", "b", "c"], "list": [[1], [2], [3]], "since": moments([5, 5, 9])}
    )
    stream = pa.table({"k0": [1, 1, 1, 1], "id": [0, 1, 2, 3], "t": moments([4, 5, 8, 9])})
    made = TableInMemory(table, spec(1, "left", as_of=True), [pa.int64()]).add_to(stream, ID)
    assert made["name"].to_pylist() == [None, "b", "b", "c"]


def test_numbers_that_spark_calls_equal() -> None:
    nan = float("nan")
    table = pa.table({"k0": [0.0, nan, 2.5], "name": ["zero", "nan", "other"], "list": [[1], [2], [3]]})
    stream = pa.table({"k0": [-0.0, nan, None, 2.5, 7.0], "id": range(5)})
    made = TableInMemory(table, spec(1, "left", as_of=False), [pa.float64()]).add_to(stream, ID)
    assert made["name"].to_pylist() == ["zero", "nan", None, "other", None]


def test_the_keys_decide_and_not_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """All keys have one hash until the third salt; then the keys of the stream have hashes of the table's."""
    real = key_index.salted_hashes

    def poor(keys: Sequence[pa.Array], salt: int) -> Any:
        return np.zeros(len(keys[0]), np.int64) if salt < 2 else real(keys, salt) % 4

    monkeypatch.setattr(key_index, "salted_hashes", poor)
    keys = [1, 2]
    while len(set(poor([pa.array(keys)], 2).tolist())) < 2:
        keys[1] += 1
    index = KeyIndex([pa.array(keys)])
    asked = list(range(40))
    assert [index.order[index.starts[n]] if n >= 0 else None for n in index.find([pa.array(asked)])] == [
        keys.index(key) if key in keys else None for key in asked
    ]


def test_empty_tables_and_streams() -> None:
    for stream_rows in (0, 3):
        stream = pa.table(
            {
                "k0": pa.array(range(stream_rows), pa.int64()),
                "id": pa.array(range(stream_rows), pa.int64()),
                "t": moments(range(stream_rows)),
            }
        )
        empty = pa.table(
            {
                "k0": pa.array([], pa.int64()),
                "name": pa.array([], pa.string()),
                "list": pa.array([], pa.list_(pa.int64())),
                "since": moments([]),
            }
        )
        for as_of in (False, True):
            made = TableInMemory(empty, spec(1, "left", as_of=as_of), [pa.int64()]).add_to(stream, ID)
            assert made["name"].to_pylist() == [None] * stream_rows
            assert (
                TableInMemory(empty, spec(1, "inner", as_of=as_of), [pa.int64()]).add_to(stream, ID).num_rows
                == 0
            )
