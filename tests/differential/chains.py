"""Random queries of several joins, as PQL and as SQL for DuckDB. Both texts are written from one description,
and neither comes out of the planner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

import duckdb
import pyarrow as pa

INPUTS = ("s0", "s1", "s2")
START_US = 1_767_225_600_000_000  # 2026-01-01
SECOND_US = 1_000_000
SPAN_S = 120
HOWS = ("INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
KEPT = ("LEFT", "FULL", "ANTI")


@dataclass(frozen=True)
class ChainedJoin:
    """`key` and `time` are the numbers of the earlier relations that ON compares the new one with. Without
    bounds, both rows are in one window of `window_s`."""

    how: str
    relation: str
    key: int
    time: int
    before_s: int
    after_s: int
    window_s: int | None = None


@dataclass(frozen=True)
class Chain:
    first: str
    joins: tuple[ChainedJoin, ...]
    where: int | None = None  # a relation with odd values only

    @property
    def visible(self) -> list[int]:
        return [0, *(n + 1 for n, join in enumerate(self.joins) if join.how not in ("SEMI", "ANTI"))]

    def _items(self) -> str:
        return ", ".join(f"r{number}.id AS id{number}" for number in self.visible)

    def pql(self, folder: str, *, application: str = "chain", storage: str = "NOOP") -> str:
        made = [f"CREATE APPLICATION {application};"]
        for name in INPUTS:
            columns = "t TIMESTAMP, k BIGINT, id BIGINT, v BIGINT"
            made.append(
                f'CREATE INPUT TABLE {name} ({columns}) FROM FILES("{folder}/{name}", format = "parquet");'
            )
        text = f"CREATE VIEW v AS SELECT {self._items()} FROM {self.first} AS r0"
        for number, join in enumerate(self.joins, 1):
            how = {"SEMI": "LEFT SEMI", "ANTI": "LEFT ANTI"}.get(join.how, join.how)
            text += f"\n  {how} JOIN {join.relation} AS r{number} ON r{number}.k = r{join.key}.k"
            if join.window_s is not None:
                text += f" WITHIN TUMBLING '{join.window_s} seconds' OF r{join.time}.t, r{number}.t"
            else:
                text += (
                    f" AND r{number}.t BETWEEN r{join.time}.t - INTERVAL '{join.before_s} seconds'"
                    f" AND r{join.time}.t + INTERVAL '{join.after_s} seconds'"
                )
            text += f" WITH (buckets = {number + 1})"
        if self.where is not None:
            text += f"\n  WHERE r{self.where}.v = 1"
        made.append(f"{text};\nCREATE TABLE o AS SELECT * FROM v STORAGE {storage};")
        return "\n".join(made)

    def sql(self) -> str:
        text = f"SELECT {self._items()} FROM {self.first} AS r0"
        for number, join in enumerate(self.joins, 1):
            text += f" {join.how} JOIN {join.relation} AS r{number} ON r{number}.k = r{join.key}.k AND "
            if join.window_s is not None:
                width = f"INTERVAL {join.window_s} SECOND"
                text += f"time_bucket({width}, r{number}.t) = time_bucket({width}, r{join.time}.t)"
            else:
                text += (
                    f"r{number}.t >= r{join.time}.t - INTERVAL {join.before_s} SECOND AND "
                    f"r{number}.t <= r{join.time}.t + INTERVAL {join.after_s} SECOND"
                )
        return text if self.where is None else f"{text} WHERE r{self.where}.v = 1"


def random_chain(random: Random, joins: int, *, plain: bool = False, hows: tuple[str, ...] = HOWS) -> Chain:
    """`plain`: only columns are compared, also where a time may be missing."""
    made: list[ChainedJoin] = []
    visible, missing = [0], set[int]()
    for number in range(1, joins + 1):
        how = random.choice(hows)
        in_window = random.random() < 0.25
        key, time = random.choice(visible), random.choice(visible)
        if plain and how in KEPT and time in missing:
            key = time
        made.append(
            ChainedJoin(
                how,
                random.choice(INPUTS),
                key,
                time,
                random.choice([0, 1, 5, 20]),
                random.choice([0, 1, 5, 20]),
                random.choice([5, 10, 30]) if in_window else None,
            )
        )
        if how in ("RIGHT", "FULL"):
            missing |= set(visible)
        if how in ("LEFT", "FULL"):
            missing.add(number)
        if how not in ("SEMI", "ANTI"):
            visible.append(number)
    where = None if plain or random.random() < 0.4 else random.choice(visible)
    return Chain(random.choice(INPUTS), tuple(made), where)


def random_rows(random: Random, rows: int) -> dict[str, pa.Table]:
    """Few keys, some of them null, and whole seconds close together: many rows are on a bound."""
    return {
        name: pa.table(
            {
                "t": pa.array(
                    [START_US + random.randrange(SPAN_S) * SECOND_US for _ in range(rows)],
                    pa.timestamp("us", "UTC"),
                ),
                "k": pa.array([random.choice([*range(12), None]) for _ in range(rows)], pa.int64()),
                "id": pa.array(range(rows), pa.int64()),
                "v": pa.array([random.randrange(2) for _ in range(rows)], pa.int64()),
            }
        )
        for name in INPUTS
    }


def batch_result(chain: Chain, tables: dict[str, pa.Table]) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            database.register(name, table)
        return Counter(database.execute(chain.sql()).fetchall())
