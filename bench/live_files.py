"""The files of live traffic, written ahead, and the process that lets them appear by the clock.

Writing ahead leaves the cores to the systems that are measured, and gives all of them the same rows. A file
appears by a hard link, which is as atomic as a rename; its stamp is the moment after. `python -m
bench.live_files '<order as JSON>'` is the process: it writes the stamps of all files to one file at the end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.live_traffic import BLOCK_S, Traffic
from bench.workload import SIDES, Side

Format = Literal["parquet", "json"]
COLUMNS: dict[Side, str] = {
    "left": "eventtime TIMESTAMP, key BIGINT, left_file INT, amount DOUBLE, label STRING",
    "right": "eventtime TIMESTAMP, key BIGINT, right_file INT, score DOUBLE, tag STRING",
}
_NAMES: dict[Side, tuple[str, str, str]] = {
    "left": ("left_file", "amount", "label"),
    "right": ("right_file", "score", "tag"),
}


@dataclass(frozen=True)
class Staged:
    """Files that nobody reads yet. `begin_us`: the event time of the traffic's beginning."""

    folder: str
    format: Format
    traffic: Traffic
    begin_us: int

    def path(self, side: Side, file: int) -> Path:
        return Path(self.folder) / side / f"{file:06d}.{self.format}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Staged:
        return cls(**{**said, "traffic": Traffic(**said["traffic"])})


def stage(traffic: Traffic, folder: Path, form: Format) -> Staged:
    # At the start of a block, so that windows of a block's length hold its pairs.
    made = Staged(str(folder), form, traffic, int(time.time() // BLOCK_S * BLOCK_S) * 1_000_000)
    for side in SIDES:
        (folder / side).mkdir(parents=True)
        for file in range(traffic.files):
            _write(_rows(made, side, file), made.path(side, file), form)
    return made


def _rows(staged: Staged, side: Side, file: int) -> pa.Table:
    keys = staged.traffic.keys[side][file]
    times = staged.begin_us + staged.traffic.times_us(side, file)
    number, value, text = _NAMES[side]
    labels = pa.array([f"{side} {n}" for n in range(100)]).take(pa.array(keys % 100))
    return pa.table(
        {
            "eventtime": pa.array(times, pa.timestamp("us", tz="UTC")),
            "key": keys,
            number: np.full(len(keys), file, np.int32),
            value: keys / 8,
            text: labels,
        }
    )


def _write(rows: pa.Table, path: Path, form: Format) -> None:
    if form == "parquet":
        pq.write_table(rows, path)
    else:
        times = rows.column("eventtime").cast(pa.timestamp("us"))
        plain = rows.set_column(0, "eventtime", times).to_pandas()
        plain["at_ms"] = times.cast(pa.int64()).to_numpy() // 1000  # for systems without microseconds
        plain.to_json(path, orient="records", lines=True, date_format="iso", date_unit="us")


def appear(staged: Staged, side: Side, file: int, into: Path) -> float:
    """Let one file appear, as if it had been written just now; gives the moment."""
    source = staged.path(side, file)
    os.utime(source)
    (into / side).mkdir(parents=True, exist_ok=True)
    os.link(source, into / side / source.name)
    return time.time()


@dataclass(frozen=True)
class FeedOrder:
    """Files from `begin` to before `end` appear in each of the folders `into`, each in its own time after
    `at`, which is when the file before `begin` is thought to have appeared."""

    staged: dict[str, Any]
    into: list[str]
    at: float
    stamps: str
    begin: int
    end: int

    def to_json(self) -> str:
        return json.dumps(asdict(self))


Stamps = dict[Side, list[float]]
"""When each file appeared, by the clock."""


def feed(order: FeedOrder) -> None:
    staged = Staged.from_json(order.staged)
    folders = [Path(folder) for folder in order.into]
    appear_s = staged.traffic.appear_s
    stamps: list[Stamps] = [{"left": [], "right": []} for _ in folders]
    for file in range(order.begin, order.end):
        wait_s = order.at + appear_s[file] - appear_s[order.begin - 1] - time.time()
        if wait_s > 0:
            time.sleep(wait_s)
        for folder, seen in zip(folders, stamps, strict=True):
            for side in SIDES:
                seen[side].append(appear(staged, side, file, folder))
    write_stamps(stamps, order.stamps)


def write_stamps(stamps: Sequence[Stamps], path: str | Path) -> None:
    partly = Path(f"{path}.new")
    partly.write_text(json.dumps(stamps))
    partly.rename(path)


def read_stamps(path: str | Path) -> list[Stamps]:
    found: list[Stamps] = json.loads(Path(path).read_text())
    return found


if __name__ == "__main__":
    feed(FeedOrder(**json.loads(sys.argv[1])))
