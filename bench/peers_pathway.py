"""Pathway in its own process and environment: an interval join of JSON files.

`python -m bench.peers_pathway '<order as JSON>'`, with the Python that has `pathway`. Rows stay in Pathway's
engine, except that latency is taken where `subscribe` hands them over. Nothing is persisted, which is its
fastest way.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import time as now
from typing import Any

from bench.peers_order import Notes, Order, timed

TYPES = {"BIGINT": int, "DOUBLE": float, "STRING": str, "INT": int}


def types(columns: str) -> dict[str, type]:
    return {name: TYPES[kind] for name, kind in (column.split() for column in columns.split(", "))}


def joined(order: Order, files: Path, mode: str, **options: Any) -> Any:
    import pathway as pw

    left, right = (
        pw.io.jsonlines.read(
            str(files / side),
            schema=pw.schema_from_types(at_ms=int, key=int, **types(columns)),
            mode=mode,
            **options,
        )
        for side, columns in order.columns.items()
    )
    window_ms = 1000 * order.window_s
    cutoff_ms = window_ms + 1000 * order.delay_s if mode == "streaming" else None  # at rest it keeps all rows
    pairs = left.interval_join_inner(
        right,
        left.at_ms,
        right.at_ms,
        pw.temporal.interval(-window_ms, window_ms),
        left.key == right.key,
        behavior=pw.temporal.common_behavior(cutoff=cutoff_ms),
    )
    columns = {name: left[name] for name in ["key", *order.names("left")]}
    return pairs.select(**columns, **{name: right[name] for name in order.names("right")})


def run_graph() -> None:
    import pathway as pw

    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    pw.internals.parse_graph.G.clear()


def at_rest(order: Order) -> None:
    import pathway as pw

    def run(files: Path, out: Path) -> None:
        out.mkdir()
        pw.io.jsonlines.write(joined(order, files, "static"), str(out / "rows.json"))
        run_graph()

    timed(order, run)


def live(order: Order) -> None:
    import pathway as pw

    rows = joined(order, Path(order.files), "streaming", autocommit_duration_ms=100)
    notes = Notes(order)

    def on_change(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            notes.take(row["key"], now())

    pw.io.subscribe(rows, on_change)
    run_graph()


if __name__ == "__main__":
    given = Order.from_json(sys.argv[1])
    os.environ["PATHWAY_THREADS"] = str(given.cores)
    (live if given.live_pairs else at_rest)(given)
