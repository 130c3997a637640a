"""A running application in one process, for tests of previews: it takes commits, steps, and is on record."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pyarrow as pa

from dovetail.engine.step_log import read_records
from dovetail.local.graph import Graph
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.model.offset import ENDED, NEVER
from dovetail.plan.application_file import application_path, encode
from dovetail.plan.configure import join_config
from dovetail.plan.physical import Plan
from dovetail.pql.compile import compile_pql
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])
START_US = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6)
SECOND = 1_000_000

Row = tuple[int | None, int | None, int]
"""Key, event time in seconds after the start, number."""

INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("b");
CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("c");
"""


def join(
    before: int,
    after: int,
    how: str = "LEFT",
    options: str = "",
    select: str = "a.id AS l, b.id AS r",
    table: str = "l, r",
    where: str = "",
) -> str:
    return f"""{INPUTS}CREATE VIEW v AS SELECT {select} FROM a {how} JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '{before} seconds' AND a.t + INTERVAL '{after} seconds'{where}
  WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1, buckets = 2{options});
CREATE TABLE o AS SELECT {table} FROM v STORAGE NOOP;
"""


class Running:
    """An application that was started with a query."""

    def __init__(self, home: str, text: str) -> None:
        self.home, self.plan = home, plan_of(text)
        for name in "abc":
            Category.create(home, name, SCHEMA, buckets=1)
        store = open_store(home)
        store.make_folder("apps/app/checkpoints/v")
        store.replace(application_path("app"), encode(self.plan, 1))
        self.graph = Graph(self.plan, home, home)

    def copied(self, home: str) -> Running:
        """A copy of its home, to look at."""
        shutil.copytree(self.home, home)
        made = copy(self)
        made.home = home
        return made

    def commit(self, name: str, rows: Iterable[Row]) -> None:
        category = Category.open(self.home, name)
        made = [
            {"t": None if t is None else START_US + t * SECOND, "k": k, "id": number} for k, t, number in rows
        ]
        batch = pa.RecordBatch.from_pylist(made, SCHEMA)
        category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))

    def step(self) -> None:
        """All stages, as far as they can go."""
        while [runner for runner in self.graph.runners.values() if runner.step()]:
            pass

    def play(self, steps: Sequence[tuple[Sequence[Row], Sequence[Row]]]) -> None:
        for left, right in steps:
            if left:
                self.commit("a", left)
            if right:
                self.commit("b", right)
            self.step()

    def steps(self, join: str = "v", left: str = "a", right: str = "b") -> list[Any]:
        """The recorded steps as the oracle has them, and one more that closes everything."""
        stage = next(one for one in self.plan.joins if one.name == join)
        rows = [self._rows(left), self._rows(right)]
        made, times = [], (float("-inf"), float("-inf"))
        for record in read_records(join_config(self.plan, stage, self.home, tasks=1)):
            sides = [
                [row for part in rows[n][side.start : side.stop] for row in part]
                for n, side in enumerate((record.left, record.right))
            ]
            times = _time(record.left.time_us), _time(record.right.time_us)
            made.append((sides[0], sides[1], times))
        return [*made, ([], [], (float("inf"), float("inf")))]

    def _rows(self, name: str) -> list[list[Row]]:
        category = Category.open(self.home, name)
        found: list[list[Row]] = []
        for number in range(category.next_commit()):
            (segment,) = category.commit(number).segments
            found.append(
                [
                    (
                        row["k"],
                        None if row["t"] is None else _time(int(row["t"].timestamp() * 1e6)),
                        row["id"],
                    )
                    for row in category.open_segment(segment).batch.to_pylist()
                ]
            )
        return found


def _time(time_us: int) -> float:
    if time_us in (NEVER, ENDED):
        return float("-inf") if time_us == NEVER else float("inf")
    return (time_us - START_US) // SECOND


def differences(
    old: Iterable[Any], new: Iterable[Any], known_by: Callable[[str, int], Any] = lambda side, number: number
) -> tuple[int, int, int, int]:
    """Equal, gained, lost, changed: by brute force, of result rows that begin with the numbers of the left
    and the right row. `known_by`: what tells the row that they belong to from others."""
    before, after = Counter(old), Counter(new)
    lost, gained = before - after, after - before
    left, more = Counter[Any](), Counter[Any]()
    for counted, rows in ((left, lost), (more, gained)):
        for row, count in rows.items():
            side, number = ("right", row[1]) if row[0] is None else ("left", row[0])
            counted[side, known_by(side, number)] += count
    changed = (left & more).total()
    return (before & after).total(), gained.total() - changed, lost.total() - changed, changed


@cache
def plan_of(text: str) -> Plan:
    return compile_pql(text)
