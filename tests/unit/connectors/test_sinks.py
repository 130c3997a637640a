"""What every sink keeps: a batch counts once, whatever dies when, whoever else writes."""

from __future__ import annotations

import datetime
import decimal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.errors import PlaceError, PlanError, StateError, Unreachable
from dovetail_dev.postgres_server import Postgres
from dovetail_dev.spark_cluster import until
from unit.connectors.places import (
    DeltaPlace,
    DuckdbPlace,
    HivePlace,
    IcebergPlace,
    Place,
    PostgresPlace,
    open_place,
    sorted_rows,
)

KINDS = ("POSTGRES", "DUCKDB", "DELTA", "ICEBERG", "HIVE")
SCHEMA = pa.schema([("k", pa.int64()), ("day", pa.date32()), ("word", pa.string())])
DAYS = (datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), None)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "POSTGRES":
        return PostgresPlace(request.getfixturevalue("postgres"))
    if request.param == "HIVE":
        return HivePlace(tmp_path, request.getfixturevalue("metastore"))
    return {"DUCKDB": DuckdbPlace, "DELTA": DeltaPlace, "ICEBERG": IcebergPlace}[request.param](tmp_path)


def batch(number: int, rows: int = 4) -> pa.Table:
    """Rows with nulls, empty texts, and characters that paths and SQL know."""
    words = ("", None, "a b/c=%'\"", "ü\n\\")
    keys = range(number * rows, (number + 1) * rows)
    values = [(k, DAYS[k % 3], words[k % 4]) for k in keys]
    return pa.table(dict(zip(SCHEMA.names, map(list, zip(*values, strict=True)), strict=True)), SCHEMA)


def written(sink: Any, rows: pa.Table) -> list[str]:
    """What two tasks say, of which one has no rows."""
    output = sink.output(rows.schema)
    said = [output.write(rows.to_batches(max_chunksize=3)), output.write([])]
    assert said[1] is None
    return [one for one in said if one is not None]


def test_a_batch_counts_once(place: Place) -> None:
    sink = open_place(place)
    sink.check(SCHEMA)
    sink.prepare(SCHEMA)
    assert sink.last() == -1
    first = written(sink, batch(0))
    assert place.rows().num_rows == 0, "nobody sees what no commit names"
    sink.commit(0, first)
    sink.commit(0, written(sink, batch(0)))
    assert sink.last() == 0
    sink.commit(1, written(sink, batch(1)))
    assert sink.last() == 1
    again = open_place(place)
    again.prepare(SCHEMA)
    again.commit(1, written(again, batch(1)))
    again.commit(5, written(again, batch(2)))
    assert again.last() == 5, "numbers may be left out"
    expected = pa.concat_tables([batch(0), batch(1), batch(2)])
    assert sorted_rows(place.rows()) == sorted_rows(expected)


def test_a_task_that_dies_and_one_that_ran_twice_leave_nothing(place: Place) -> None:
    sink = open_place(place)
    sink.prepare(SCHEMA)

    def dies() -> Any:
        yield from batch(0).to_batches()
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        sink.output(SCHEMA).write(dies())
    written(sink, batch(0))  # nobody names it
    sink.commit(0, written(sink, batch(0)))
    again = open_place(place)
    again.prepare(SCHEMA)
    assert sorted_rows(place.rows()) == sorted_rows(batch(0))


def test_two_writers_of_one_table(place: Place) -> None:
    one, two = open_place(place), open_place(place, "two", "other")
    for sink in (one, two):
        sink.check(SCHEMA)
        sink.prepare(SCHEMA)
    for number in range(3):
        both = written(one, batch(2 * number)), written(two, batch(2 * number + 1))
        one.commit(number, both[0])
        two.commit(number, both[1])
    assert (one.last(), two.last()) == (2, 2)
    expected = pa.concat_tables([batch(number) for number in range(6)])
    assert sorted_rows(place.rows()) == sorted_rows(expected)


def test_two_writers_at_once(place: Place) -> None:
    """Two applications that run: whoever finds the place taken for a moment tries again, as a run does."""
    sinks = [open_place(place, "one", "app"), open_place(place, "two", "other")]
    for sink in sinks:
        sink.prepare(SCHEMA)

    def taken(sink: Any, number: int, records: list[str]) -> bool:
        try:
            sink.commit(number, records)
        except Unreachable:
            return False
        return True

    def write(writer: int) -> None:
        for number in range(4):
            records = written(sinks[writer], batch(2 * number + writer))
            commit = partial(taken, sinks[writer], number, records)
            until(commit, "the batch is written")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, range(2)))
    assert [sink.last() for sink in sinks] == [3, 3]
    expected = pa.concat_tables([batch(number) for number in range(8)])
    assert sorted_rows(place.rows()) == sorted_rows(expected)


def test_one_table_from_two_homes_is_refused(place: Place) -> None:
    sink = open_place(place)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    with pytest.raises(StateError, match="written from another home"):
        open_place(place, "two", home="elsewhere").check(SCHEMA)
    back = open_place(place, "two")  # the table was taken out of the query, and is there again
    back.check(SCHEMA)
    back.prepare(SCHEMA)
    assert back.last() == -1
    back.commit(0, written(back, batch(1)))
    assert sorted_rows(place.rows()) == sorted_rows(pa.concat_tables([batch(0), batch(1)]))


def test_columns_that_come_go_and_get_wider(place: Place) -> None:
    sink = open_place(place)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    wide = batch(1).drop_columns(["word"]).append_column("more", pa.array([1.5, None, 2.5, 3.5]))
    wide = wide.set_column(0, "k", wide["k"].cast(pa.int32()))
    changed = open_place(place)
    changed.check(wide.schema)
    changed.prepare(wide.schema)
    changed.commit(1, written(changed, wide))
    before = [{**row, "more": None} for row in batch(0).to_pylist()]
    after = [{**row, "word": None} for row in wide.to_pylist()]
    order = ("k", "day", "word", "more")
    found = [{name: row[name] for name in order} for row in place.rows().to_pylist()]
    expected = [{name: row[name] for name in order} for row in (*before, *after)]
    assert sorted(found, key=str) == sorted(expected, key=str)
    other = pa.schema([("k", pa.string())])
    with pytest.raises(PlaceError, match=r"column k of .* has type .*, and the query gives"):
        open_place(place).check(other)


def test_columns_of_an_iceberg_table_get_wider(tmp_path: Path) -> None:
    """In the table, too: rows from before have the same values, and what merges files reads both."""
    place = IcebergPlace(tmp_path)
    narrow = {"k": pa.int32(), "x": pa.float32(), "d": pa.decimal128(5, 2)}
    wide = {"k": pa.int64(), "x": pa.float64(), "d": pa.decimal128(20, 2)}
    values = {"k": [1, None, -3], "x": [0.5, 2.25, None], "d": [decimal.Decimal("1.25"), None, None]}
    expected = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    for number, types in enumerate((narrow, wide, narrow)):
        rows = pa.table({name: pa.array(values[name], kind) for name, kind in types.items()})
        sink = open_place(place, merge_every=3)
        sink.check(rows.schema)
        sink.prepare(rows.schema)
        sink.commit(number, written(sink, rows))
        assert sorted_rows(place.rows()) == sorted(expected * (number + 1), key=str)
        if number == 1:
            assert place.rows(row_filter="k > 0 and x < 2 and d < 2").num_rows == 2
            assert len(place.files()) == 2
    assert len(place.files()) == 1
    assert place.rows().schema.types == [pa.int64(), pa.float64(), pa.decimal128(20, 2)]
    with pytest.raises(PlaceError, match="column d of Iceberg table"):
        open_place(place).check(pa.schema([("d", pa.decimal128(20, 3))]))


def test_every_type(place: Place) -> None:
    at = datetime.datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=datetime.UTC)
    columns = {
        "tiny": pa.array([-128, None], pa.int8()),
        "small": pa.array([-(2**15), None], pa.int16()),
        "whole": pa.array([-(2**31), None], pa.int32()),
        "long": pa.array([-(2**63), None], pa.int64()),
        "single": pa.array([1.5, None], pa.float32()),
        "double": pa.array([float("inf"), None], pa.float64()),
        "yes": pa.array([True, None]),
        "bytes": pa.array([b"\x00\xff", None]),
        "at": pa.array([at, None], pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal("-12345.67"), None], pa.decimal128(18, 2)),
    }
    rows = pa.table(columns)
    sink = open_place(place)
    sink.prepare(rows.schema)
    sink.commit(0, written(sink, rows))
    found = {
        name: [value for value in place.rows()[name].to_pylist() if value is not None] for name in columns
    }
    found["price"] = [decimal.Decimal(value) for value in found["price"]]  # ADBC reads numeric as text
    found["at"] = [value.astimezone(datetime.UTC) for value in found["at"]]
    assert found == {name: values.to_pylist()[:1] for name, values in columns.items()}
    assert place.rows().num_rows == 2


@pytest.mark.parametrize("place", ["DELTA", "ICEBERG", "HIVE"], indirect=True)
def test_partitions(place: Place) -> None:
    parts = ("day", "word")
    sink = open_place(place, partitioned_by=parts)
    sink.check(SCHEMA)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0, 12)))
    expected = [
        row if place.kind == "ICEBERG" else {**row, "word": row["word"] or None}  # to others it is null
        for row in batch(0, 12).to_pylist()
    ]
    assert sorted_rows(place.rows()) == sorted(expected, key=str)
    with pytest.raises(PlanError, match="is partitioned by"):
        open_place(place).check(SCHEMA)
    with pytest.raises(PlanError, match="cannot be partitioned by at"):
        open_place(place, partitioned_by=("at",)).check(
            SCHEMA.append(pa.field("at", pa.timestamp("us", "UTC")))
        )


@pytest.mark.parametrize("lake", [DeltaPlace, IcebergPlace])
def test_small_files_are_merged(lake: type[DeltaPlace | IcebergPlace], tmp_path: Path) -> None:
    place = lake(tmp_path)
    sink = open_place(place, merge_every=3)
    sink.prepare(SCHEMA)
    for number in range(6):
        sink.commit(number, written(sink, batch(number)))
    assert len(place.files()) == 1
    assert sink.last() == 5
    assert sorted_rows(place.rows()) == sorted_rows(pa.concat_tables([batch(number) for number in range(6)]))


@pytest.mark.parametrize("kind", ["POSTGRES", "DUCKDB"])
def test_rows_that_replace_others(kind: str, tmp_path: Path, postgres: Postgres) -> None:
    place = PostgresPlace(postgres) if kind == "POSTGRES" else DuckdbPlace(tmp_path)
    schema = pa.schema([("k", pa.int64()), ("at", pa.int64()), ("word", pa.string())])

    def rows(*values: tuple[int, int | None, str | None]) -> pa.Table:
        return pa.table(dict(zip(schema.names, map(list, zip(*values, strict=True)), strict=True)), schema)

    sink = open_place(place, key=("k",), newest=("at",))
    sink.check(schema)
    sink.prepare(schema)
    sink.commit(0, written(sink, rows((1, 5, "a"), (1, 7, "b"), (1, 6, "c"), (2, 1, "d"), (3, None, "n"))))
    sink.commit(1, written(sink, rows((1, 6, "late"), (2, 2, "e"), (2, 2, "e"), (3, 0, None))))
    assert sorted_rows(place.rows()) == sorted_rows(rows((1, 7, "b"), (2, 2, "e"), (3, 0, None)))
    plain = open_place(place, key=("k",))
    plain.check(schema)
    plain.prepare(schema)
    plain.commit(2, written(plain, rows((1, 0, "last"), (4, 0, "new"))))
    assert place.rows().num_rows == 4
    assert {"k": 1, "at": 0, "word": "last"} in place.rows().to_pylist()
