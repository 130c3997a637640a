"""Theta joins: rows a second with one task and with two on the same work, by index and by scan.

The work is a window of rows a side and as many new ones as asked for, with the papers' band of 10 either
way in two dimensions. Tasks are processes of their own that begin together, as Spark's are; a step is over
when the last of them is done. On a busy machine the ratio of CPU seconds (of the slower task) says more.
Both numbers of tasks must find the same pairs, and as many as DuckDB.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa

from bench import theta_work as work
from bench.recovery_tasks import side_by_side
from dovetail.log.category import Category

MASK = (1 << 64) - 1


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dovetail bench theta", description=__doc__)
    parser.add_argument("--window", type=int, default=400_000, help="rows a side that are seen")
    parser.add_argument("--rows", type=int, default=100_000, help="new rows a side, by index")
    parser.add_argument("--scan-rows", type=int, default=100, help="new rows a side, by scan; 0: no scan")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; medians are told")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(argv)
    found = []
    for path, rows in (("index", given.rows), ("scan", given.scan_rows)):
        if rows:
            found.append(measure(path, given.window, rows, given.repeat, given.seed))
    if given.json:
        print(json.dumps({"window": given.window, "paths": found}))
    else:
        print(f"windows of {given.window:,} rows a side, medians of {given.repeat} runs")
        for one in found:
            rates = one["rows_per_s"]
            print(
                f"{one['path']:<6} {one['rows']:>9,} new rows a side, {one['pairs']:>9,} pairs   "
                f"one task {rates['1']:>11,.0f} rows/s   two tasks {rates['2']:>11,.0f} rows/s   "
                f"ratio {one['ratio']:.2f}, by CPU {one['cpu_ratio']:.2f}   "
                f"{'as DuckDB' if one['right'] else 'WRONG'}"
            )
    return 0 if all(one["right"] for one in found) else 1


def measure(path: str, window: int, rows: int, repeat: int, seed: int) -> dict[str, Any]:
    spent: dict[int, list[float]] = {1: [], 2: []}
    used: dict[int, list[float]] = {1: [], 2: []}
    results = set()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        work.write_log(home, window, rows, seed)
        for _ in range(repeat):
            for tasks, seconds in spent.items():  # by turns: what else the machine does meets both
                index = Path(folder) / "index"
                config = work.config(home, index, window, path)
                start, filled, end = work.offsets(tasks)
                fills = replace(config, theta=work.filling(window))
                side_by_side(work.run_task, fills, tasks, start, filled)
                outcomes = side_by_side(work.run_task, config, tasks, filled, end)
                seconds.append(max(outcome.wall_s for outcome in outcomes))
                used[tasks].append(max(outcome.cpu_s for outcome in outcomes))
                pairs = sum(outcome.pairs for outcome in outcomes)
                results.add((pairs, sum(outcome.checksum for outcome in outcomes) & MASK))
                shutil.rmtree(index)
                shutil.rmtree(home / config.state_path)
        expected = reference(home, window)
    rates = {tasks: 2 * rows / median(seconds) for tasks, seconds in spent.items()}
    return {
        "path": path,
        "rows": rows,
        "pairs": expected,
        "seconds": {str(tasks): seconds for tasks, seconds in spent.items()},
        "rows_per_s": {str(tasks): rate for tasks, rate in rates.items()},
        "ratio": rates[2] / rates[1],
        "cpu_ratio": median(used[1]) / median(used[2]),
        "right": len(results) == 1 and next(iter(results))[0] == expected,
    }


def reference(home: Path, window: int) -> int:
    """How many pairs there are. New left rows enter before the right ones, which see it after that."""
    database = duckdb.connect()
    for name in ("left", "right"):
        category = Category.open(str(home), name)
        infos = [info for commit in category.commits(0, 2) for info in commit.segments]
        batches = [category.open_segment(info).batch for info in infos]
        database.register(f"{name}s", pa.Table.from_batches(batches, work.SCHEMA))
    far, wide = work.REACH, 2 * work.REACH
    for name in ("_on_0", "_on_1"):  # an equality to join by: each right row has three places in a dimension
        place = f"CAST({name} // {wide} AS INT)"
        database.execute(
            f"CREATE TABLE rights{name} AS SELECT *, unnest([{place} - 1, {place}, {place} + 1]) AS at{name} "
            f"FROM {'rights' if name == '_on_0' else 'rights_on_0'}"
        )
    near = " AND ".join(
        f"CAST(l.{name} // {wide} AS INT) = r.at{name} AND abs(l.{name} - r.{name}) <= {far}"
        for name in ("_on_0", "_on_1")
    )
    end = Category.open(str(home), "left").commit(1)
    stop = end.first_row + end.rows
    counted = database.execute(
        f"""SELECT count(*) FROM lefts l, rights_on_1 r WHERE {near} AND (
            (l.id >= {window} AND r.id < {window})
            OR (r.id >= {window} AND l.id >= {stop - window}))"""
    ).fetchall()
    return int(counted[0][0])


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
