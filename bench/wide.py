"""What wide rows take in the log, plain and compressed, and what it costs to write and to gather them.

Rows are made as services log them: a URL, an agent, a JSON text, ids and a few numbers, about 330 bytes of
payload. Costs are CPU time of this process, in microseconds a row; the files are in the page cache.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

BATCH_ROWS = 10_000
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0 Safari",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_{} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile",
    "Mozilla/5.0 (Linux; Android 14; SM-G99{}B) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36",
)
PATHS = ("/search", "/product/view", "/cart/add", "/checkout", "/api/v2/events", "/home", "/profile/settings")
WORDS = ("shoes", "hat", "laptop", "phone", "garden chair", "bicycle")


def wide_rows(count: int, seed: int = 1) -> pa.RecordBatch:
    rng = random.Random(seed)
    choice, number, bits = rng.choice, rng.randrange, rng.getrandbits
    hashes = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, count)
    users = [f"user-{bits(32):08x}" for _ in range(count)]
    return pa.record_batch(
        {
            "_hash": hashes,
            "_time": np.arange(count, dtype=np.int64) * 1000,
            "_key_0": users,
            "user": users,
            "request": [f"{bits(64):016x}-{bits(32):08x}" for _ in range(count)],
            "url": [
                f"https://www.example.com{choice(PATHS)}?q={choice(WORDS)}&page={number(20)}&ref={bits(24):x}"
                for _ in range(count)
            ],
            "agent": [choice(AGENTS).format(number(100, 130)) for _ in range(count)],
            "attributes": [
                json.dumps(
                    {
                        "country": choice(("us", "de", "fr", "jp")),
                        "experiments": [number(1000) for _ in range(3)],
                        "session": f"{bits(48):x}",
                        "position": number(50),
                    }
                )
                for _ in range(count)
            ],
            "score": [rng.random() for _ in range(count)],
            "amount": [number(10**6) for _ in range(count)],
        }
    )


def measure(rows: int) -> dict[str, Any]:
    batch = wide_rows(rows)
    found: dict[str, Any] = {"rows": rows}
    with tempfile.TemporaryDirectory() as home:
        for label, compression in (("plain", "none"), ("compressed", "auto")):
            found[label] = _measure(home, compression, batch)
    return found | {"ratio": found["compressed"]["ratio"]}


def _measure(home: str, compression: Any, batch: pa.RecordBatch) -> dict[str, float]:
    from dovetail.joins.rows.gather import Rows
    from dovetail.log.blocks import payload_schema
    from dovetail.log.cache import BLOCKS
    from dovetail.log.category import Category
    from dovetail.slicing.write_rows import bucket_of, time_of

    category = Category.create(home, compression, batch.schema, compression=compression)
    rows, names = batch.num_rows, payload_schema(batch.schema).names

    def write() -> None:
        category.append(category.write_segments([batch], bucket_of("_hash", 64), time_of("_time")))

    def gather(wanted: Any) -> None:
        places = log.places(wanted)
        for offset in range(0, len(wanted), BATCH_ROWS):
            part = log.at(places.slice(offset, BATCH_ROWS))
            for name in names:
                part.take(name)

    write_us = _cpu_us(write) / rows
    commit = category.commit(0)
    log = Rows(category, 0, 1)
    every, few = np.arange(rows), np.sort(np.random.default_rng(1).choice(rows, rows // 100, replace=False))
    gather(every)  # compiles, and maps the files
    costs = []
    for wanted in (every, few):
        BLOCKS.clear()
        costs.append(_cpu_us(lambda wanted=wanted: gather(wanted)) / len(wanted))
    raw = batch.select(names).nbytes
    stored = sum(info.packing.stored_bytes if info.packing else 0 for info in commit.segments) or raw
    return {
        "bytes_per_row": commit.bytes / rows,
        "payload_bytes_per_row": stored / rows,
        "ratio": raw / stored,
        "write_us_per_row": write_us,
        "gather_all_us_per_row": costs[0],
        "gather_few_us_per_row": costs[1],
    }


def _cpu_us(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e6


def lines(found: dict[str, Any]) -> list[str]:
    """The table for people."""
    plain, packed = found["plain"], found["compressed"]
    table = [f"{'wide rows in the log':<32}{'plain':>10}{'compressed':>12}"]
    for name, label, digits in (
        ("bytes_per_row", "bytes a row", 0),
        ("payload_bytes_per_row", "payload bytes a row", 0),
        ("write_us_per_row", "writing, CPU µs a row", 2),
        ("gather_all_us_per_row", "gathering all, CPU µs a row", 2),
        ("gather_few_us_per_row", "gathering 1 in 100, CPU µs a row", 2),
    ):
        table.append(f"{label:<32}{plain[name]:>10.{digits}f}{packed[name]:>12.{digits}f}")
    return [*table, f"{'ratio of the payload':<32}{'':>10}{packed['ratio']:>12.1f}"]
