"""The log on Kafka beside the log on disk: the same rows written, committed and read back.

Both have 64 buckets and the same commits, and what is read back is compared with what was written. The
category is there before the clock starts: brokers make topics, and know a new writer, in a good half second,
once.

Two rates are given. By the clock, the broker's work is in it, on the same cores as everything else. By the
CPU time of this process it is not, as it is not where brokers have machines of their own."""

from __future__ import annotations

import resource
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.command import tell
from dovetail.log import history
from dovetail.log.category import Category

if TYPE_CHECKING:
    from rich.table import Table

SCHEMA = pa.schema(
    [
        ("_hash", pa.int64()),
        ("_time", pa.int64()),
        ("_key_0", pa.string()),
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("note", pa.string()),
    ]
)
BUCKETS, COMMIT_ROWS = 64, 400_000
NOTE_BYTES = {"narrow": 40, "wide": 130}
"""For narrow rows the log keeps all as it is. The payload of wide ones it compresses, on either home."""


@dataclass(frozen=True)
class LogFigures:
    """Seconds of the runs after the warm-up, by the home's kind: by the clock, and of the CPU."""

    width: str
    rows: int
    bytes: int
    clock_s: dict[str, list[float]] = field(default_factory=lambda: {"kafka": [], "disk": []})
    cpu_s: dict[str, list[float]] = field(default_factory=lambda: {"kafka": [], "disk": []})

    @property
    def ratio(self) -> float:
        """Kafka's rate to that of the disk, by the clock."""
        return _ratio(self.clock_s)

    @property
    def cpu_ratio(self) -> float:
        return _ratio(self.cpu_s)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "cpu_ratio": self.cpu_ratio}


def _ratio(taken_s: dict[str, list[float]]) -> float:
    return statistics.median(taken_s["disk"]) / statistics.median(taken_s["kafka"])


def log_rates(disk: str, brokers: str, rows: int, repeat: int, width: str) -> LogFigures:
    """`repeat` runs of each, alternating, after one that does not count."""
    batches = made(rows, width)
    found = LogFigures(width, rows, sum(batch.nbytes for batch in batches))
    tell(f"writing {rows:,} rows of {found.bytes // rows} bytes to the log and reading them back")
    for run in range(repeat + 1):
        for way in ("kafka", "disk"):
            name = uuid.uuid4().hex[:8]
            home = f"kafka://{brokers}/{name}" if way == "kafka" else f"{disk}/{name}"
            category(home)
            began_s, began_cpu_s = time.perf_counter(), _cpu_s()
            seen = written_and_read(home, batches)
            clock_s, cpu_s = time.perf_counter() - began_s, _cpu_s() - began_cpu_s
            assert seen == fingerprint(batches), way
            if not run:
                assert in_order(read(home)).equals(in_order(batches)), way
            tell(f"log on {way}: {clock_s:.2f} s, {cpu_s:.2f} CPU seconds" + ("" if run else ", warm-up"))
            if run:
                found.clock_s[way].append(clock_s)
                found.cpu_s[way].append(cpu_s)
    return found


def made(rows: int, width: str, seed: int = 1) -> list[pa.RecordBatch]:
    """Rows as a slicer makes them, in pieces of a commit each. Notes are letters at random."""
    rng, note_bytes = np.random.default_rng(seed), NOTE_BYTES[width]
    cuts = [*range(0, rows, COMMIT_ROWS), rows]
    return [_batch(rng, start, stop, note_bytes) for start, stop in pairwise(cuts)]


def _batch(rng: np.random.Generator, start: int, stop: int, note_bytes: int) -> pa.RecordBatch:
    count, ids = stop - start, np.arange(start, stop)
    ends = pa.py_buffer((np.arange(count + 1) * note_bytes).astype(np.int32))
    letters = pa.py_buffer(rng.integers(97, 123, count * note_bytes, dtype=np.uint8))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(rng.integers(-(2**62), 2**62, count)),
            pa.array(1_700_000_000_000_000 + ids * 1000),
            pa.array(ids % 100_000).cast(pa.string()),
            pa.array(ids),
            pa.array(rng.random(count)),
            pa.StringArray.from_buffers(count, ends, letters),
        ],
        schema=SCHEMA,
    )


def category(home: str) -> Category:
    return Category.create(home, "rows", SCHEMA, buckets=BUCKETS, role="side")


def written_and_read(home: str, batches: Sequence[pa.RecordBatch]) -> tuple[int, ...]:
    written = category(home)
    for number, batch in enumerate(batches):
        infos = written.write_segments(
            [batch],
            lambda rows: rows.column("_hash").to_numpy() % BUCKETS,
            lambda rows: rows.column("_time").to_numpy(),
            hash_of=lambda rows: rows.column("_hash").to_numpy(),
        )
        written.append(infos, producer="bench", batch=number)
    history.forget()  # what this process has read: it reads all of it again
    return fingerprint(read(home))


def read(home: str) -> list[pa.RecordBatch]:
    found = category(home)
    commits = found.commits(0, found.next_commit())
    return [found.open_segment(info).batch for one in commits for info in one.segments]


def in_order(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches).sort_by("id").combine_chunks()


def fingerprint(batches: Sequence[pa.RecordBatch]) -> tuple[int, ...]:
    """The same for the same rows in any order. It is quick: every value is compared in the warm-up alone."""
    table = pa.Table.from_batches(batches)
    hashes = pc.bit_wise_and(table["_hash"], 0xFFFFFFFF)
    sums = [pc.sum(column).as_py() for column in (table["id"], hashes, pc.binary_length(table["note"]))]
    return table.num_rows, *sums


def log_table(found: LogFigures) -> Table:
    from rich.table import Table

    shown = Table(
        f"{found.width} rows, log on",
        "rows per second",
        "rows per CPU second",
        "seconds",
        box=None,
        pad_edge=False,
    )
    for way in found.clock_s:
        clock_s, cpu_s = statistics.median(found.clock_s[way]), statistics.median(found.cpu_s[way])
        seconds = ", ".join(f"{one:.2f}" for one in found.clock_s[way])
        shown.add_row(way, f"{found.rows / clock_s:,.0f}", f"{found.rows / cpu_s:,.0f}", seconds)
    shown.add_row("ratio", f"{found.ratio:.2f}", f"{found.cpu_ratio:.2f}", "")
    return shown


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
