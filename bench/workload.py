"""The interval-join workload: two disordered streams of Parquet files that look alike at every size.

Law: the same `Workload` always gives the same rows, and what a join has to do *per row* does not depend on
how many rows there are. The event-time span stays the same, and so does the number of rows per key (four a
side): a window holds the same share of the stream, and a left row meets as many partners, at every size.

The span comes from the design's measurement: of 4 million rows a side, a join within +-3 minutes kept 1.48
million rows of state, 740 thousand a side. A stream-stream join must hold a row for the window plus the
greatest disorder, and an exponential of mean 30 s over 4 million rows strays up to about
30 s * ln(4 million) = 7.6 minutes. 10.6 minutes of rows, and about 0.5 more for the batch in hand, are 740
thousand of 4 million when the whole stream spans one hour.

After the real rows each side has one more, tiny file of *end rows*: far in the future, with keys that match
nothing. They carry the stream time past every real window, so that an engine that closes windows by watermark
alone emits every unmatched row. They are counted out of every result.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
Form = Literal["parquet", "json", "csv"]
FORMS: tuple[Form, ...] = ("parquet", "json", "csv")

START_US = 1_748_736_000_000_000  # 2025-06-01 00:00 UTC
END_ROWS = 4
END_KEY = {"left": -1, "right": -2}
MANIFEST_VERSION = 1
_MINUTE_US = 60_000_000

_TIME = pa.field("eventtime", pa.timestamp("us", tz="UTC"))
_KEY = pa.field("key", pa.int64())
SCHEMAS: dict[Side, pa.Schema] = {
    "left": pa.schema([_TIME, _KEY, ("units", pa.int64()), ("amount", pa.float64()), ("label", pa.string())]),
    "right": pa.schema(
        [_TIME, _KEY, ("quantity", pa.int64()), ("score", pa.float64()), ("tag", pa.string())]
    ),
}


@dataclass(frozen=True)
class Workload:
    """What is generated: everything the rows depend on, and nothing else."""

    rows: int = 2_000_000
    files: int = 20
    seed: int = 1
    span_minutes: float = 60.0
    disorder_mean_s: float = 30.0

    def __post_init__(self) -> None:
        if not 1 <= self.files <= self.rows:
            raise ValueError(
                f"{self.rows} rows a side do not fill {self.files} files: give at least one row a file"
            )
        if self.span_minutes <= 0 or self.disorder_mean_s < 0:
            raise ValueError("the span must be positive and the mean disorder must not be negative")

    @property
    def keys(self) -> int:
        return max(1, self.rows // 4)

    @property
    def name(self) -> str:
        """A directory name that changes whenever the rows would."""
        return (
            f"v{MANIFEST_VERSION}-{self.rows}x{self.files}-seed{self.seed}"
            f"-{self.span_minutes:g}min-{self.disorder_mean_s:g}s"
        )


@dataclass(frozen=True)
class Dataset:
    """A workload on disk. `max_delay_us`: no row is further behind the newest one before it."""

    workload: Workload
    path: Path
    max_delay_us: int
    form: Form = "parquet"

    def files(self, side: Side) -> Path:
        """As Parquet."""
        return self.path / side

    def inputs(self, side: Side) -> Path:
        """What the systems read."""
        return self.files(side) if self.form == "parquet" else self.path / self.form / side

    @property
    def input_rows(self) -> int:
        return 2 * self.workload.rows


def columns(workload: Workload, side: Side) -> pa.Table:
    """The real rows of one side, in order of arrival."""
    rng = np.random.default_rng([workload.seed, SIDES.index(side)])
    rows = workload.rows
    span_us = workload.span_minutes * _MINUTE_US
    arrival = (np.arange(rows) + 0.5) * (span_us / rows)
    behind = rng.exponential(workload.disorder_mean_s * 1e6, rows)
    time = START_US + (arrival - behind).astype(np.int64)
    key = rng.integers(0, workload.keys, rows)
    whole = rng.integers(0, 1_000, rows)
    real = rng.random(rows)
    names = pa.array([f"{side}-{number:03d}" for number in range(1_000)])
    text = names.take(pa.array(rng.integers(0, 1_000, rows)))
    return pa.table([pa.array(time).cast(_TIME.type), key, whole, real, text], schema=SCHEMAS[side])


def end_rows(workload: Workload, side: Side) -> pa.Table:
    """Rows so far in the future that they close every window of the real rows, whatever its width."""
    days_ahead = np.int64(START_US + (workload.span_minutes + 30 * 24 * 60) * _MINUTE_US)
    time = days_ahead + np.arange(END_ROWS) * 1_000_000
    key = np.full(END_ROWS, END_KEY[side], np.int64)
    values = [pa.array(time).cast(_TIME.type), key, np.zeros(END_ROWS, np.int64), np.zeros(END_ROWS)]
    return pa.table([*values, pa.array(["end"] * END_ROWS)], schema=SCHEMAS[side])


def disorder_us(time: np.ndarray) -> int:
    """How far the most delayed row is behind the newest row before it."""
    return int((np.maximum.accumulate(time) - time).max(initial=0))


def generate(workload: Workload, data: Path) -> Dataset:
    """Write the workload below `data`, or find it there. The manifest comes last: without it there is none.

    Modification times ascend from file to file: both systems take files in that order.
    """
    path = data / workload.name
    manifest = path / "manifest.json"
    if manifest.exists():
        return Dataset(workload, path, int(json.loads(manifest.read_text())["max_delay_us"]))
    most = 0
    for side in SIDES:
        (path / side).mkdir(parents=True, exist_ok=True)
        table = columns(workload, side)
        most = max(most, disorder_us(table["eventtime"].cast(pa.int64()).to_numpy()))
        cuts = np.linspace(0, workload.rows, workload.files + 1).astype(np.int64)
        pieces = [table.slice(lo, hi - lo) for lo, hi in pairwise(cuts.tolist())]
        for number, piece in enumerate([*pieces, end_rows(workload, side)]):
            file = path / side / f"part-{number:05d}.parquet"
            pq.write_table(piece, file)
            written_s = START_US // 1_000_000 + 60 * number
            os.utime(file, (written_s, written_s))
    max_delay_us = (most // 1_000_000 + 1) * 1_000_000
    manifest.write_text(json.dumps({**asdict(workload), "max_delay_us": max_delay_us}, indent=1) + "\n")
    return Dataset(workload, path, max_delay_us)


def written_as(dataset: Dataset, form: Form) -> Dataset:
    """The same rows in another form, file by file, beside the Parquet files; or found there."""
    made = replace(dataset, form=form)
    if form == "parquet" or (dataset.path / form / "whole").exists():
        return made
    import duckdb

    how = "FORMAT json" if form == "json" else "FORMAT csv, HEADER"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for side in SIDES:
            made.inputs(side).mkdir(parents=True, exist_ok=True)
            for file in sorted(dataset.files(side).glob("*.parquet")):
                text = made.inputs(side) / f"{file.stem}.{form}"
                time = "strftime(eventtime, '%Y-%m-%dT%H:%M:%S.%fZ') AS eventtime"
                rows = f"SELECT * REPLACE ({time}) FROM '{file}'"
                database.execute(f"COPY ({rows}) TO '{text}' ({how})")
                os.utime(text, (file.stat().st_mtime, file.stat().st_mtime))
    (dataset.path / form / "whole").touch()
    return made
