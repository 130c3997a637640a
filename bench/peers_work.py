"""The files of `bench peers`: JSON, which all of them read without anything else, and the pairs in them.

A row has its time twice, as text and as milliseconds: each system takes the form that it reads best. Times
are behind by up to `DELAY_S`, so streams are disordered but no row is late.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from bench.workload import SIDES, START_US, Side

SPAN_S = 3600
DELAY_S = 30
WINDOW_S = 180
PARTNERS = 1.0
COLUMNS = {
    "left": "left_id BIGINT, amount DOUBLE, label STRING",
    "right": "right_id BIGINT, score DOUBLE, tag STRING",
}
NAMES: dict[Side, tuple[str, str, str]] = {
    "left": ("left_id", "amount", "label"),
    "right": ("right_id", "score", "tag"),
}


class Result(NamedTuple):
    """Which pairs there are: how many, and a sum that changes with any of them."""

    pairs: int
    checksum: str


@dataclass(frozen=True)
class Work:
    path: Path
    rows: int
    files: int
    seed: int = 1

    def write(self) -> None:
        with duckdb.connect() as db:
            for side in SIDES:
                folder = self.path / side
                folder.mkdir(parents=True)
                for file, rows in enumerate(self._tables(side)):
                    db.register("rows", rows)
                    db.execute(f"COPY (SELECT * FROM rows) TO '{folder / f'{file:04d}.json'}' (FORMAT json)")
                    db.unregister("rows")

    def _tables(self, side: Side) -> list[pa.Table]:
        random = np.random.default_rng((self.seed, self.rows, SIDES.index(side)))
        at_ms = START_US // 1000 + np.arange(self.rows) * (SPAN_S * 1000) // self.rows
        at_ms = at_ms - random.integers(0, DELAY_S * 1000, self.rows)
        keys = max(1, round(self.rows * 2 * WINDOW_S / SPAN_S / PARTNERS))
        key, number = random.integers(0, keys, self.rows), np.arange(self.rows)
        id_name, value, text = NAMES[side]
        labels = pa.array([f"{side} {n}" for n in range(100)])
        whole = pa.table(
            {
                "eventtime": pa.array(at_ms, pa.timestamp("ms")).cast(pa.string()),
                "at_ms": at_ms,
                "key": key,
                id_name: number,
                value: number / 8,
                text: labels.take(pa.array(key % 100)),
            }
        )
        each = -(-self.rows // self.files)
        return [whole.slice(begin, each) for begin in range(0, self.rows, each)]

    def expected(self) -> Result:
        with duckdb.connect() as db:
            left, right = (f"read_json('{self.path / side}/*.json')" for side in SIDES)
            return _result(
                db,
                f"SELECT left_id, right_id FROM {left} AS l JOIN {right} AS r ON l.key = r.key "
                f"AND r.at_ms BETWEEN l.at_ms - {WINDOW_S * 1000} AND l.at_ms + {WINDOW_S * 1000}",
            )


def found(out: Path) -> Result:
    """The pairs in a folder of JSON files, however they are named."""
    files = [
        str(path) for path in out.rglob("*") if path.is_file() and path.stat().st_size and _is_rows(path)
    ]
    if not files:
        return Result(0, "0")
    with duckdb.connect() as db:
        return _result(
            db, f"SELECT left_id, right_id FROM read_json({files!r}, format = 'newline_delimited')"
        )


def _is_rows(path: Path) -> bool:
    return "_spark_metadata" not in path.parts and not path.name.startswith((".", "_SUCCESS"))


def _result(db: duckdb.DuckDBPyConnection, pairs: str) -> Result:
    found = db.execute(
        f"SELECT count(*), coalesce(sum((left_id::HUGEINT + 1) * (right_id + 7)), 0)::VARCHAR FROM ({pairs})"
    ).fetchone()
    assert found is not None
    return Result(*found)
