"""Streams of Parquet files that share a key, the query that joins them all, and its batch result.

Law: the same `Streams` always gives the same rows. A row finds `partners` rows of each other stream, on
average, at every size: that sets the number of keys. So each join of a chain puts out about `partners` times
as many rows as it takes.

Each stream's rows are numbered, and the result has these numbers: two results with the same count and the
same sum of hashes over them are the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.workload import START_US, disorder_us

NAMES = "abcdefgh"
COLUMNS = "eventtime TIMESTAMP, key BIGINT, id BIGINT, amount DOUBLE, label STRING"
_SCHEMA = pa.schema(
    [
        ("eventtime", pa.timestamp("us", tz="UTC")),
        ("key", pa.int64()),
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("label", pa.string()),
    ]
)
CHOSEN = ("id", "amount", "label")


@dataclass(frozen=True)
class Streams:
    """What is generated and joined. Each stream's rows are within `window_s` of the first one's."""

    path: str
    count: int
    rows: int
    files: int = 8
    seed: int = 1
    partners: float = 1.0
    window_s: int = 180
    span_s: int = 3600
    disorder_mean_s: float = 30.0

    def __post_init__(self) -> None:
        if not 3 <= self.count <= len(NAMES):
            raise ValueError(f"cannot join {self.count} streams: join 3 to {len(NAMES)}")
        if not 1 <= self.files <= self.rows:
            raise ValueError(f"{self.rows} rows do not fill {self.files} files: give at least one row a file")

    @property
    def names(self) -> str:
        return NAMES[: self.count]

    @property
    def input_rows(self) -> int:
        return self.count * self.rows

    @property
    def keys(self) -> int:
        return max(1, round(self.rows * 2 * self.window_s / self.span_s / self.partners))

    def files_of(self, name: str) -> Path:
        return Path(self.path) / name

    def generate(self) -> int:
        """Write the files, in order of arrival, and say how many seconds the latest row is late."""
        most = 0
        for number, name in enumerate(self.names):
            table = self._table(number)
            most = max(most, disorder_us(table["eventtime"].cast(pa.int64()).to_numpy()))
            self.files_of(name).mkdir(parents=True)
            cuts = np.linspace(0, self.rows, self.files + 1).astype(np.int64).tolist()
            for part, (start, stop) in enumerate(pairwise(cuts)):
                file = self.files_of(name) / f"part-{part:05d}.parquet"
                pq.write_table(table.slice(start, stop - start), file)
                written_s = START_US // 1_000_000 + 60 * part
                os.utime(file, (written_s, written_s))
        return most // 1_000_000 + 1

    def _table(self, number: int) -> pa.Table:
        rng = np.random.default_rng((self.seed, number))
        came = (np.arange(self.rows) + 0.5) * (self.span_s * 1e6 / self.rows)
        time = START_US + (came - rng.exponential(self.disorder_mean_s * 1e6, self.rows)).astype(np.int64)
        labels = pa.array([f"{NAMES[number]}-{label:03d}" for label in range(1_000)])
        return pa.table(
            [
                pa.array(time).cast(_SCHEMA.field("eventtime").type),
                rng.integers(0, self.keys, self.rows),
                np.arange(self.rows),
                rng.random(self.rows),
                labels.take(pa.array(rng.integers(0, 1_000, self.rows))),
            ],
            schema=_SCHEMA,
        )


def columns(streams: Streams) -> dict[str, str]:
    """The result's columns and their expressions."""
    chosen = {f"{name}_{column}": f"{name}.{column}" for name in streams.names for column in CHOSEN}
    return {"key": "a.key", **chosen}


def condition(streams: Streams, name: str) -> str:
    window = f"INTERVAL '{streams.window_s}' SECOND"
    return (
        f"{name}.key = a.key AND {name}.eventtime BETWEEN a.eventtime - {window} AND a.eventtime + {window}"
    )


def query(streams: Streams, max_delay_s: int, out: Path) -> str:
    """The join of all streams as PQL."""
    inputs = "\n".join(
        f'CREATE INPUT TABLE {name} ({COLUMNS}) FROM FILES("{streams.files_of(name)}", format = "parquet");'
        for name in streams.names
    )
    joins = "\n".join(
        f"JOIN {name} ON {condition(streams, name)}\n  WITH (max_delay = INTERVAL '{max_delay_s} seconds')"
        for name in streams.names[1:]
    )
    chosen = ", ".join(f"{expression} AS {name}" for name, expression in columns(streams).items())
    return f"""\
CREATE APPLICATION bench_streams;
{inputs}
CREATE VIEW joined AS SELECT {chosen}
FROM a
{joins};
CREATE TABLE results AS SELECT {", ".join(columns(streams))} FROM joined STORAGE PARQUET(path = "{out}");
"""


@dataclass(frozen=True)
class Result:
    """How many rows, and the sum of their hashes."""

    rows: int
    hash: str


def batch_join(streams: Streams) -> Result:
    """Join by join. In one query DuckDB may join the later streams first, by key alone, without the windows:
    that makes many times as many rows."""
    steps = [f"joined_a AS MATERIALIZED (SELECT eventtime, key, {_named('a')} FROM {_files(streams, 'a')})"]
    for before, name in pairwise(streams.names):
        steps.append(
            f"joined_{name} AS MATERIALIZED (SELECT a.*, {_named(name)} FROM joined_{before} AS a "
            f"JOIN {_files(streams, name)} AS {name} ON {condition(streams, name)})"
        )
    return _digest(streams, f"joined_{streams.names[-1]}", f"WITH {', '.join(steps)}")


def _files(streams: Streams, name: str) -> str:
    return f"read_parquet('{streams.files_of(name)}/*.parquet')"


def _named(name: str) -> str:
    of = "" if name == "a" else f"{name}."
    return ", ".join(f"{of}{column} AS {name}_{column}" for column in CHOSEN)


def written(streams: Streams, out: Path) -> Result:
    """What a system has written."""
    return _digest(streams, f"read_parquet('{out}/**/*.parquet')")


def _digest(streams: Streams, source: str, steps: str = "") -> Result:
    import duckdb

    with duckdb.connect() as database:
        names = ", ".join(columns(streams))
        found = database.execute(f"{steps} SELECT count(*), sum(hash({names})) FROM {source}").fetchone()
    assert found is not None
    return Result(int(found[0]), str(found[1]))
