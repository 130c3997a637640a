"""How much memory a window of buffered rows takes: 50 million rows by default.

Rows are inserted through the join's own step, in batches, so growth of the index is part of what is measured.
The process's largest resident size is taken before and after; payload stays in the log and is no part of it.
What payload takes there, plain and compressed, is measured by `wide.py` on fewer rows.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from bench import wide
from bench.command import Command, finish

BATCH_ROWS = 1_000_000
LIMIT_BYTES = 4_000_000_000


def main(argv: list[str]) -> int:
    command = Command("memory", __doc__)
    command.number("--rows", 50_000_000, "rows in the window")
    command.count("--wide-rows", 200_000, "wide rows in the log; 0 leaves them out")
    arguments = command.parse_args(argv)
    found: dict[str, Any] = measure(arguments.rows)
    if arguments.wide_rows:
        found["wide"] = wide.measure(arguments.wide_rows)
    finish(arguments.json, found, lambda: show(found))
    return 0 if found["fits"] else 1


def show(found: dict[str, Any]) -> None:
    print(f"rows in the window    {found['rows']:>16,}")
    print(f"index bytes           {found['index_bytes']:>16,}   {found['index_bytes_per_row']:.1f} per row")
    print(f"peak resident bytes   {found['peak_rss_bytes']:>16,}   {found['base_rss_bytes']:,} before")
    print(f"limit                 {LIMIT_BYTES:>16,}   {'kept' if found['fits'] else 'EXCEEDED'}")
    print(f"inserted rows/s       {found['rows_per_s']:>16,.0f}")
    if "wide" in found:
        print("", *wide.lines(found["wide"]), sep="\n")


def measure(rows: int) -> dict[str, float]:
    from dovetail.joins.interval.step import step
    from dovetail.joins.state import JoinState
    from dovetail.joins.streams import Arrivals, Times
    from dovetail.model.interval import IntervalSpec
    from dovetail.model.offset import NEVER

    state = JoinState.empty(IntervalSpec(3_600_000_000, 3_600_000_000, "left"))
    rng = np.random.default_rng(1)
    none = np.empty(0, np.int64)
    base = _peak_rss_bytes()
    began = time.perf_counter()
    for start in range(0, rows, BATCH_ROWS):
        count = min(BATCH_ROWS, rows - start)
        batch = Arrivals(
            rng.integers(-(2**63), 2**63 - 1, count),
            np.arange(start, start + count, dtype=np.int64),
            np.arange(start, start + count, dtype=np.int64),
        )
        step(state, Arrivals(none, none, none), batch, Times(NEVER, start))
    assert state.right_rows == rows
    peak = _peak_rss_bytes()
    return {
        "rows": rows,
        "index_bytes": state.right.bytes,
        "index_bytes_per_row": state.right.bytes / rows,
        "base_rss_bytes": base,
        "peak_rss_bytes": peak,
        "fits": peak <= LIMIT_BYTES,
        "rows_per_s": rows / (time.perf_counter() - began),
    }


def _peak_rss_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
