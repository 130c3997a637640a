"""Theta joins: rows per second with one task and with two on the same work, by index and by scan, and end to
end on Spark.

The work is a window of rows a side and as many new ones as asked for, with the papers' band of 10 either
way in two dimensions: all in one step, or in many small ones, where what a step does with all of its window
shows. Tasks are processes of their own that begin together, as Spark's are; a step is over
when the last of them is done. On a busy machine the ratio of CPU seconds (of the slower task) says more.
Both numbers of tasks must find the same pairs, and as many as DuckDB.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa

from bench import theta_spark
from bench import theta_work as work
from bench.command import Command, finish
from bench.recovery_tasks import side_by_side
from dovetail.log.category import Category
from dovetail.model.join_kind import ThetaJoin

MASK = (1 << 64) - 1


def main(argv: list[str]) -> int:
    command = Command("theta", __doc__)
    command.number("--window", 400_000, "rows per side in the window")
    command.count("--rows", 100_000, "new rows per side, by index; 0 leaves it out")
    command.number("--step-rows", 1_000, "new rows per side in a small step")
    command.count("--steps", 50, "small steps; 0 leaves them out")
    command.count("--scan-rows", 1_000, "new rows per side, by scan; 0 leaves it out")
    command.count("--spark-rows", 300_000, "rows per side on Spark; 0 leaves it out")
    command.number("--repeat", 3, "runs of each, of which the median counts")
    command.count("--seed", 1, "random seed")
    given = command.parse_args(argv)
    found = []
    loads = {
        "index": work.Load(given.window, given.rows, 1),
        "steps": work.Load(given.window, given.step_rows, given.steps),
        "scan": work.Load(given.window, given.scan_rows, 1),
    }
    for path, load in loads.items():
        if load.step_rows and load.steps:
            found.append(measure(path, load, given.repeat, given.seed))
    if given.spark_rows:
        found.append(theta_spark.measure(given.spark_rows, given.repeat, given.seed))
    heading = f"windows of {given.window:,} rows per side, medians of {given.repeat} runs"
    document = {"window": given.window, "paths": found}
    finish(given.json, document, lambda: print(heading, *map(line, found), sep="\n"))
    return 0 if all(one["right"] for one in found) else 1


def line(one: dict[str, Any]) -> str:
    """One path's figures. CPU seconds and steps are known where nothing but the join runs."""
    rates, alone = one["rows_per_s"], "cpu_ratio" in one
    return "   ".join(
        [
            f"{one['path']:<6} {one['rows']:>9,} new rows per side"
            + (f", {one['steps']} steps" if alone else ""),
            f"{one['pairs']:>9,} pairs",
            f"one task {rates['1']:>11,.0f} rows/s",
            *([f"{one['rows_per_cpu_s']:,.0f} per CPU second"] if alone else []),
            f"two tasks {rates['2']:>11,.0f} rows/s",
            f"ratio {one['ratio']:.2f}" + (f", by CPU {one['cpu_ratio']:.2f}" if alone else ""),
            "as DuckDB" if one["right"] else "WRONG",
        ]
    )


def measure(path: str, load: work.Load, repeat: int, seed: int) -> dict[str, Any]:
    spent: dict[int, list[float]] = {1: [], 2: []}
    used: dict[int, list[float]] = {1: [], 2: []}
    results = set()
    rows = load.step_rows * load.steps
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        work.write_log(home, load, seed)
        for _ in range(repeat):
            for tasks, seconds in spent.items():  # by turns: what else the machine does meets both
                index = Path(folder) / "index"
                config = work.config(home, index, load.window, path)
                offsets = load.offsets(tasks)
                fills = replace(config, join_kind=ThetaJoin(config.spec, work.filling(load.window)))
                side_by_side(work.fill, fills, tasks, *offsets[:2])
                outcomes = side_by_side(work.run_task, config, tasks, offsets[1:])
                seconds.append(max(outcome.wall_s for outcome in outcomes))
                used[tasks].append(max(outcome.cpu_s for outcome in outcomes))
                pairs = sum(outcome.pairs for outcome in outcomes)
                results.add((pairs, sum(outcome.checksum for outcome in outcomes) & MASK))
                shutil.rmtree(index)
                shutil.rmtree(home / config.state_path)
        expected = reference(home, load)
    rates = {tasks: 2 * rows / median(seconds) for tasks, seconds in spent.items()}
    return {
        "path": path,
        "rows": rows,
        "steps": load.steps,
        "pairs": expected,
        "seconds": {str(tasks): seconds for tasks, seconds in spent.items()},
        "cpu_seconds": {str(tasks): seconds for tasks, seconds in used.items()},
        "rows_per_s": {str(tasks): rate for tasks, rate in rates.items()},
        "rows_per_cpu_s": 2 * rows / median(used[1]),
        "ratio": rates[2] / rates[1],
        "cpu_ratio": median(used[1]) / median(used[2]),
        "right": len(results) == 1 and next(iter(results))[0] == expected,
    }


def reference(home: Path, load: work.Load) -> int:
    """How many pairs there are. In a step left rows enter before the right ones, which see them."""
    with duckdb.connect() as database:
        return _counted(database, home, load)


def _counted(database: duckdb.DuckDBPyConnection, home: Path, load: work.Load) -> int:
    for name in ("left", "right"):
        category = Category.open(str(home), name)
        infos = [info for commit in category.commits(0, len(load.commits)) for info in commit.segments]
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
    first, size, window = load.timed_from, load.step_rows, load.window
    seen = f"{first} + (l.id - {first}) // {size} * {size}"  # right rows that have entered before a left one
    entered = f"{first} + ((r.id - {first}) // {size} + 1) * {size}"  # left rows, before a right one
    counted = database.execute(
        f"""SELECT count(*) FROM lefts l, rights_on_1 r WHERE {near} AND (
            (l.id >= {first} AND r.id < {seen} AND r.id >= {seen} - {window})
            OR (r.id >= {first} AND l.id < {entered} AND l.id >= {entered} - {window}))"""
    ).fetchall()
    return int(counted[0][0])
