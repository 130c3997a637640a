"""Flink SQL in its own process and environment: an interval join of JSON files, in a mini cluster.

`python -m bench.peers_flink '<order as JSON>'`, with the Python that has `apache-flink`. Only planning is in
Python: rows stay in the JVM. State is on the heap. Files at rest are joined without checkpoints, which is
Flink's fastest way. Live, each pair gets the moment when it was joined as a column: its file sink shows rows
only after a checkpoint, and `collect()` hands about a hundred of them to Python in a second.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.peers_order import Notes, Order, timed

ANY_ORDER_S = 3600
"""How far the watermark of files at rest is behind. Flink takes the files of a folder in any order, and their
rows span an hour: with less, rows would be late and their pairs missing."""

TABLE = """
CREATE TEMPORARY TABLE `{side}` (
  at_ms BIGINT, `key` BIGINT, {columns},
  eventtime AS TO_TIMESTAMP_LTZ(at_ms, 3),
  WATERMARK FOR eventtime AS eventtime - {behind}
) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'json'{more})
"""
OUT = """
CREATE TEMPORARY TABLE `out` (`key` BIGINT, {columns})
WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'json'{more})
"""
POLL = ", 'source.monitor-interval' = '100ms'"
ROLL = ", 'sink.rolling-policy.rollover-interval' = '400ms', 'sink.rolling-policy.check-interval' = '100ms'"
CHECKPOINT = {"execution.checkpointing.interval": "500 ms"}
JOIN = """
SELECT {columns} FROM `left` AS l JOIN `right` AS r ON l.`key` = r.`key`
AND r.eventtime BETWEEN l.eventtime - {window} AND l.eventtime + {window}
"""


def interval(seconds: int) -> str:
    """Flink's seconds have two digits."""
    return f"INTERVAL '{seconds // 3600}:{seconds // 60 % 60}:{seconds % 60}' HOUR TO SECOND"


def environment(order: Order, more: dict[str, str]) -> Any:
    os.environ["JVM_ARGS"] = f"-Xmx{order.heap}"
    from pyflink.table import EnvironmentSettings, TableEnvironment

    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    common = {
        "parallelism.default": str(order.cores),
        "taskmanager.numberOfTaskSlots": str(2 * order.cores),
        "table.local-time-zone": "UTC",
    }
    for name, value in (common | more).items():
        made.get_config().set(name, value)
    return made


def declare(made: Any, order: Order, files: Path, behind_s: int, more: str = "") -> None:
    for side, columns in order.columns.items():
        made.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS `{side}`")
        behind = interval(behind_s)
        made.execute_sql(
            TABLE.format(side=side, columns=columns, behind=behind, path=files / side, more=more)
        )


def join(order: Order, columns: list[str]) -> str:
    return JOIN.format(columns=", ".join(columns), window=interval(order.window_s))


def at_rest(order: Order) -> None:
    made = environment(order, {})

    def run(files: Path, out: Path) -> None:
        declare(made, order, files, ANY_ORDER_S)
        made.execute_sql("DROP TEMPORARY TABLE IF EXISTS `out`")
        made.execute_sql(OUT.format(columns=", ".join(order.columns.values()), path=out, more=""))
        query = join(order, ["l.`key`", *order.names("left"), *order.names("right")])
        made.execute_sql(f"INSERT INTO `out` {query}").wait()

    timed(order, run)


def live(order: Order) -> None:
    made, out = environment(order, CHECKPOINT), Path(order.work) / "out"
    declare(made, order, Path(order.files), order.delay_s, POLL)
    made.execute_sql(OUT.format(columns="joined_at STRING", path=out, more=ROLL))
    query = join(order, ["l.`key`", "CAST(CURRENT_ROW_TIMESTAMP() AS STRING)"])
    made.execute_sql(f"INSERT INTO `out` {query}")
    notes, taken = Notes(order), set[Path]()
    while True:
        for path in set(out.glob("part-*")) - taken:
            taken.add(path)
            for row in map(json.loads, path.read_text().splitlines()):
                notes.take(row["key"], datetime.fromisoformat(row["joined_at"] + "+00:00").timestamp())
        time.sleep(0.2)


if __name__ == "__main__":
    given = Order.from_json(sys.argv[1])
    (live if given.live_pairs else at_rest)(given)
