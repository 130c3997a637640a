"""A join, its slicers and aggregates over categories whose columns change while rows are in flight."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aggregating import SCHEMA, Aggregate, config_of
from dovetail.engine.driver import JoinDriver
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from dovetail.model.time_window import TimeWindow
from dovetail.model.validity import Validity
from dovetail.service.torture.quick_join import config
from dovetail.slicing.direct import DirectSlice, direct_slice
from dovetail.slicing.sides import append_parts
from dovetail.slicing.write_rows import bucket_of, time_of

KEYED = [
    pa.field("_hash", pa.int64(), False),
    pa.field("_time", pa.int64(), False),
    pa.field("_key_0", pa.string()),
]
NARROW = pa.schema([*KEYED, ("id", pa.int32()), ("text", pa.string())])
WIDER = pa.schema([*KEYED, ("note", pa.string()), ("id", pa.int64()), ("text", pa.string())])
WITHOUT = pa.schema([*KEYED, ("note", pa.string()), ("id", pa.int64())])


def append(category: Category, *rows: tuple[str, int]) -> None:
    """Rows of a key and a time; what else they have follows from these."""
    made = [
        {"_hash": int(hash_keys([pa.array([key])])[0]), "_time": time, "_key_0": key}
        | {"id": time, "text": f"{key} at {time} " * 30, "note": f"note {time}"}
        for key, time in rows
    ]
    batch = pa.RecordBatch.from_pylist(made, schema=category.schema)
    category.append(category.write_segments([batch], bucket_of("_hash", 4), time_of("_time")))


class Joined:
    """A left join of rows at most 10 apart."""

    def __init__(self, folder: Path, compression: Any) -> None:
        self.folder, self.offset = folder, JoinOffset()
        for name in ("left", "right"):
            Category.create(str(folder / "home"), name, NARROW, buckets=4, compression=compression)

    def side(self, name: str) -> Category:
        return Category.open(str(self.folder / "home"), name)

    def config(self, *columns: str) -> JoinConfig:
        kind = IntervalJoin(IntervalSpec(10, 10, "left"))
        made = config(self.folder / "home", self.folder / "index", kind, 4, 0)
        picked = [OutputColumn(f"{side}_{name}", side, name) for side, name in map(str.split, columns)]  # type: ignore[arg-type]
        return replace(made, columns=tuple(picked))

    def step(self, *columns: str, final: bool = False) -> list[tuple[Any, ...]]:
        driver = JoinDriver(self.config(*columns))
        end = driver.plan(self.offset, until=driver.there_now(), final=final, tasks=1)
        rows = [tuple(row.values()) for batch in driver.run(self.offset, end) for row in batch.to_pylist()]
        self.offset = end
        return sorted(rows, key=str)


OLD = ("left id", "left text", "right id")
NEW = ("left id", "left note", "left text", "right id", "right note")


@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize("rebuilt", [False, True])
def test_rows_that_wait_while_a_column_comes_in_the_middle(
    tmp_path: Path, compression: str, rebuilt: bool
) -> None:
    join = Joined(tmp_path, compression)
    append(join.side("left"), ("a", 100), ("b", 101))
    append(join.side("right"), ("a", 95))
    assert join.step(*OLD) == [(100, "a at 100 " * 30, 95)]
    join.side("left").evolve(WIDER)
    append(join.side("left"), ("c", 102), ("b", 103))
    append(join.side("right"), ("b", 104), ("c", 104))
    if rebuilt:
        for file in (tmp_path / "index").rglob("header.json"):
            file.unlink()
    found = [*join.step(*NEW[:4]), *join.step(*NEW[:4], final=True)]
    assert sorted(found) == [
        (101, None, "b at 101 " * 30, 104),
        (102, "note 102", "c at 102 " * 30, 104),
        (103, "note 103", "b at 103 " * 30, 104),
    ]


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_step_that_is_run_again_takes_what_it_took(tmp_path: Path, compression: str) -> None:
    """Also a column that the categories have lost since."""
    join = Joined(tmp_path, compression)
    append(join.side("left"), ("a", 100))
    append(join.side("right"), ("a", 95))
    first = join.step(*OLD)
    join.side("left").evolve(WITHOUT)
    append(join.side("left"), ("a", 104))
    join.offset = JoinOffset()
    again = JoinDriver(join.config(*OLD))
    end = again.plan(join.offset, until=(1, 1), tasks=1)
    assert [tuple(row.values()) for one in again.run(join.offset, end) for row in one.to_pylist()] == first
    assert again.schema.field("left_id").type == pa.int64()


def test_an_aggregate_and_its_late_rows(tmp_path: Path) -> None:
    """Its windows close with rows of both kinds; those that are late are set aside in the columns of now."""
    aggregate = Aggregate(config_of(tmp_path / "home", TimeWindow("tumbling", 100, 100), 0))
    aggregate.append([(10, "a"), (20, "b")])
    aggregate.run()
    aggregate.append([(150, "a")])
    aggregate.append([(30, "late")])
    aggregate.run()
    schema = SCHEMA.insert(3, pa.field("note", pa.string()))
    category = aggregate.category = aggregate.category.evolve(schema)
    batch = pa.record_batch([[0, 0], [250, 40], ["a", "late"], ["x", "y"], [4, 5]], schema=schema)
    category.append(category.write_segments([batch], bucket_of(None, 1), time_of("_time")))
    aggregate.run(final=True)
    assert [row for row, _ in aggregate.out] == [0, 1, 2, 4]
    late = Category.open(category.home, aggregate.config.late)
    rows = [
        late.open_segment(info).batch.to_pylist()[0] for one in late.commits(0, 2) for info in one.segments
    ]
    assert [(row["id"], row["note"]) for row in rows] == [(3, None), (5, "y")]


def test_slicers_of_two_generations_alternate(tmp_path: Path) -> None:
    """The one that was not started again goes on; so do the rows that both set aside."""
    sliced = {name: name for name in ("_key_0", "id", "text")} | {"time": "time"}
    old = Category.create(str(tmp_path), "side", NARROW, buckets=4, role="side")
    rows = pa.table(
        {
            "time": pa.array([1000, None], pa.timestamp("us", "UTC")),
            "_key_0": ["a", "b"],
            "id": pa.array([1, 2], pa.int32()),
            "text": ["x", "y"],
        }
    )
    new_rows = rows.append_column("note", pa.array(["n", "m"]))
    first = direct_slice(rows.schema, old, sliced, ("_key_0",), "time", Validity())
    new = old.evolve(WIDER)
    second = direct_slice(new_rows.schema, new, {**sliced, "note": "note"}, ("_key_0",), "time", Validity())
    assert isinstance(first, DirectSlice)
    assert isinstance(second, DirectSlice)
    for number in range(2):
        append_parts(old, [first.write_tables([rows])], "old", number, None)
        append_parts(new, [second.write_tables([new_rows])], "new", number, None)
    aside = Category.open(str(tmp_path), "side.invalid")
    assert aside.generation == 1
    for category, notes in ((Category.open(str(tmp_path), "side"), ["n", "m"]), (aside, ["m"])):
        seen = [
            row["note"]
            for commit in category.commits(0, 4)
            for info in commit.segments
            for row in category.open_segment(info).batch.to_pylist()
        ]
        assert sorted(seen, key=str) == sorted([*notes, *notes, *[None] * 2 * len(notes)], key=str)
