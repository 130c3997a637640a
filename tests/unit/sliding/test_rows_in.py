"""What a sliding-window join takes, what it refuses, and that a refused push leaves no trace."""

from __future__ import annotations

import contextlib
import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.errors import InputError, RunError, SettingError
from dovetail.model.sliding import Window
from dovetail.sliding.engine import SlidingJoin

DAY = datetime.date(2024, 5, 1)
NOON = datetime.datetime(2024, 5, 1, 12)


def join_of(on: Any = "left.k == right.k", **given: Any) -> SlidingJoin:
    options = {"left": {"k": "int64"}, "right": {"k": "int64"}, "window": Window(rows=100), **given}
    return SlidingJoin(on, **options)


@pytest.mark.parametrize("pushes", [[], ["left"], ["left", "left"], ["left", "left", "right"]])
def test_nothing_found_is_an_empty_table(pushes: list[Any]) -> None:
    with join_of() as join:
        for number, side in enumerate(pushes):
            join.push(**{side: {"k": np.array([number])}})
        assert join.results().num_rows == 0
        table = join.finish()
    assert table.num_rows == 0
    assert table.schema.names == ["k", "right_k"]


def test_both_sides_at_once_must_each_be_in_order() -> None:
    """Rows would get the payload of others: the payload knows rows by the order in which they were pushed."""
    schema = {"k": "int64", "t": "int64"}
    with join_of(left=schema, right=schema, time="t") as join:
        with pytest.raises(InputError, match="time goes back") as caught:
            join.push(
                left={"k": np.array([1, 2]), "t": np.array([20, 10])},
                right={"k": np.array([1, 2]), "t": np.array([15, 15])},
            )
        assert "row 1 of the left batch" in str(caught.value)
        join.push(
            left={"k": np.array([1, 2]), "t": np.array([10, 20])},
            right={"k": np.array([1, 2]), "t": np.array([15, 15])},
        )
        found = join.finish().to_pylist()
    assert sorted((row["k"], row["t"], row["right_k"]) for row in found) == [(1, 10, 1), (2, 20, 2)]


def test_a_bad_payload_value_is_refused_at_the_push() -> None:
    left = pa.schema([("k", pa.int64()), ("name", pa.string())])
    with join_of(left=left) as join:
        with pytest.raises(InputError, match="column name cannot be 7"):
            join.push(left={"k": 1, "name": 7})
        join.push(left={"k": 1, "name": "one"})
        join.push(right={"k": 1})
        assert join.finish().to_pylist() == [{"k": 1, "name": "one", "right_k": 1}]


@pytest.mark.parametrize("time", [None, 1.5, "soon", np.float64(2.5)])
def test_the_time_of_a_single_row_is_a_whole_number(time: Any) -> None:
    schema = {"k": "int64", "t": "int64"}
    with join_of(left=schema, right=schema, time="t", window=Window(time=5)) as join:
        with pytest.raises(InputError):
            join.push(left={"k": 1, "t": time})
        with pytest.raises(InputError):
            join.push(left={"k": 1})
        join.push(left={"k": 1, "t": 7})
        join.push(right={"k": 1, "t": 12})
        assert join.finish()["t"].to_pylist() == [7]


@pytest.mark.parametrize(
    ("kind", "first", "later"),
    [
        (pa.date32(), DAY, DAY + datetime.timedelta(days=1)),
        (pa.timestamp("us"), NOON, NOON + datetime.timedelta(microseconds=1)),
        (pa.timestamp("ns"), np.datetime64(NOON, "ns"), np.datetime64(NOON, "ns") + 1),
    ],
    ids=str,
)
def test_dates_and_datetimes_of_single_rows(kind: pa.DataType, first: Any, later: Any) -> None:
    schema = pa.schema([("k", pa.int64()), ("t", kind)])
    with join_of(
        "abs(left.t - right.t) <= 1", left=schema, right=schema, time="t", window=Window(time=1)
    ) as join:
        join.push(left={"k": 1, "t": first})
        join.push(right={"k": 2, "t": later})
        assert join.finish().num_rows == 1


@pytest.mark.parametrize("tags", [[1, 2], [], None])
def test_a_list_is_a_payload(tags: Any) -> None:
    left = pa.schema([("k", pa.int64()), ("tags", pa.list_(pa.int64()))])
    with join_of(left=left) as join:
        join.push(left={"k": 1, "tags": tags})
        join.push(left={"k": [2, 3], "tags": [[4], [5, 6]]})
        join.push(right={"k": [1, 3]})
        found = join.finish().to_pylist()
    assert sorted(found, key=lambda row: row["k"]) == [
        {"k": 1, "tags": tags, "right_k": 1},
        {"k": 3, "tags": [5, 6], "right_k": 3},
    ]


def test_columns_in_chunks() -> None:
    with join_of() as join:
        join.push(left={"k": pa.chunked_array([[1], [2]])})
        join.push(right=pa.table({"k": pa.chunked_array([[2], [3]], pa.int32())}))
        assert join.finish()["k"].to_pylist() == [2]


@pytest.mark.parametrize("values", [[1, 1.5], [Decimal("1.5")], np.array([1.5], object)], ids=str)
def test_a_whole_number_is_not_cut_out_of_another(values: Any) -> None:
    with join_of() as join:
        with pytest.raises(InputError, match="column k cannot be read"):
            join.push(left={"k": values})
        join.push(left={"k": [Decimal(1), Decimal(2)]})
        join.push(right={"k": np.array([2.0, None], object)})
        assert join.finish()["k"].to_pylist() == [2]


def test_numbers_of_another_byte_order() -> None:
    with join_of() as join:
        join.push(left={"k": np.array([1, 2], ">i8")})
        join.push(right={"k": np.ma.masked_array([1, 2], [True, False])})
        assert join.finish()["k"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        (pa.timestamp("s"), pa.timestamp("us"), "left.t counts seconds, and right.t counts microseconds"),
        (pa.date32(), pa.timestamp("s", "UTC"), "left.t counts days, and right.t counts seconds"),
        (pa.date64(), pa.date32(), "left.t counts milliseconds, and right.t counts days"),
        (pa.time64("ns"), pa.time32("ms"), "left.t counts nanoseconds, and right.t counts milliseconds"),
    ],
    ids=str,
)
def test_times_that_count_different_things_are_not_compared(left: Any, right: Any, says: str) -> None:
    """A second would be taken for a microsecond."""
    sides = {side: pa.schema([("k", pa.int64()), ("t", kind)]) for side, kind in
             (("left", left), ("right", right))}  # fmt: skip
    with pytest.raises(SettingError, match=says):
        join_of(**sides, time="t", window=Window(time=10))
    for on in (
        "left.t == right.t",
        "left.k == right.k and left.t < right.t + 5",
        "abs(left.t - right.t) <= 10",
        "min(left.t, right.t) > left.k",
        "left.k == 1 or not left.t >= right.t",
    ):
        with pytest.raises(SettingError, match=says):
            join_of(on, **sides)
    for on in ("left.t * 1000 == right.t", "left.t > 5 and right.t > 5", "left.t > left.k"):
        join_of(on, **sides).close()


def test_the_same_instants_in_two_zones() -> None:
    zoned = {side: pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", zone))])
             for side, zone in (("left", "UTC"), ("right", "Europe/Berlin"))}  # fmt: skip
    east = datetime.timezone(datetime.timedelta(hours=2))
    with join_of("left.t == right.t", **zoned, time="t", window=Window(time=0)) as join:
        join.push(left={"k": 1, "t": NOON.replace(tzinfo=datetime.UTC)})
        join.push(right={"k": 2, "t": NOON.replace(hour=14, tzinfo=east)})
        assert join.finish().num_rows == 1


TWICE = pa.schema([("k", pa.int64()), ("k", pa.int64())])
BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"left": {"k": "int64", "right_k": "int64"}}, "results would be called right_k"),
    ({"left": TWICE}, "two columns of the left stream are called k"),
    ({"left": {"k": "bogus"}}, "schema cannot be read"),
    ({"left": 7}, "schema cannot be read"),
    ({"time": "bogus"}, "no time column bogus"),
    ({"left": {"k": "float64"}, "time": "k"}, "which is not a time"),
    (
        {"left": pa.schema([("k", pa.month_day_nano_interval())]), "on": "right.k > 1", "time": "k"},
        "is not a time",
    ),
    ({"left": {"k": None}}, "schema cannot be read"),
    ({"access": ["scan"]}, "no access"),
    ({"design": ["split"]}, "no design"),
    ({"window": 5}, "needs a window"),
    ({"on": None}, "a predicate cannot be a NoneType"),
    ({"on": b"left.k == right.k"}, "a predicate cannot be a bytes"),
    ({"access": "bogus"}, "no access 'bogus'"),
    ({"hold_rows_per_s": -1.0, "order": "outer"}, "cannot be held"),
    ({"hold_rows_per_s": float("nan"), "order": "outer"}, "cannot be held"),
    ({"hold_rows_per_s": float("inf"), "order": "outer"}, "cannot be held"),
    ({"hold_rows_per_s": 10**400, "order": "outer"}, "cannot be held"),
    ({"hold_rows_per_s": 1000.0}, "are not"),
    ({"deal_rows": 0}, "deal_rows = 0"),
    ({"deal_rows": 8, "design": "kang"}, "kang cannot have deal_rows"),
    ({"batch_rows": 8}, "split cannot have batch_rows"),
    ({"basic_rows": True, "design": "cell"}, "cell cannot have basic_rows"),
    ({"cores": 1.5}, "cannot have 1.5 cores"),
    ({"every": 2**70, "order": "outer"}, "count rows from 1"),
    ({"most_pending": -1}, "most_pending cannot be"),
    ({"on": "abs() <= 3"}, "abs takes 1 argument"),
    ({"on": "abs(left.k, 2) <= right.k"}, "abs takes 1 argument"),
    ({"on": "min(left.k) <= right.k"}, "min takes 2 arguments or more"),
    ({"on": "left.k <= right.k + 2 ** 80"}, "64 bits"),
    ({"on": f"left.k <= right.k + {10**30}"}, "64 bits"),
    ({"on": "(left.k & 0.5) == right.k"}, "whole numbers"),
]


@pytest.mark.parametrize(("options", "says"), BAD_SETTINGS, ids=lambda value: str(value)[:50])
def test_what_cannot_be_is_refused_with_a_hint(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError, match=says) as caught:
        join_of(**options)
    assert caught.value.hint


@pytest.mark.parametrize("size", [1.5, 2**70, True, "3"])
def test_windows_are_whole_numbers(size: Any) -> None:
    for kind in ("rows", "time"):
        with pytest.raises(SettingError, match="a window cannot be"):
            Window(**{kind: size})


@pytest.mark.parametrize("design", ["split", "kang"])
def test_a_core_that_is_not_there_cannot_be_lost(design: Any) -> None:
    with join_of(design=design) as join, pytest.raises(SettingError):
        join.lose(7)


@pytest.mark.parametrize("design", ["split", "handshake"])
@pytest.mark.parametrize("cores", [1, 2])
def test_finish_gives_all_results_however_many(design: Any, cores: int) -> None:
    with join_of("left.k <= right.k", most_pending=50, design=design, cores=cores) as join:
        join.push(left={"k": np.zeros(40, int)})
        with contextlib.suppress(RunError):  # it asks to read first, and keeps what it could not send
            join.push(right={"k": np.zeros(40, int)})
        assert join.finish().num_rows == 1600


@pytest.mark.parametrize("design", ["kang", "split", "cell", "handshake", "low_latency_handshake"])
@pytest.mark.parametrize("window", [{"rows": 50}, {"time": 50}], ids=str)
@pytest.mark.parametrize("cores", [1, 2])
def test_payload_goes_when_its_rows_have_left_the_window(design: Any, window: Any, cores: int) -> None:
    """Without flush(), with rows that come in batches and one by one; the results that are read are right."""
    if design == "kang" and cores == 2:
        return
    schema = {"k": "int64", "t": "int64"}
    found, most, rows = 0, 0, 20_000
    with join_of(
        left=schema, right=schema, window=Window(**window), time="t", design=design, cores=cores
    ) as join:
        for first in range(0, rows, 100):
            keys = np.arange(first, first + 100)
            join.push(left={"k": keys, "t": keys}, right={"k": keys, "t": keys})
            if first % 1000 == 0:
                table = join.results()
                assert table["k"].to_pylist() == table["right_k"].to_pylist()
                found += table.num_rows
            most = max(most, *join.held_rows.values())
        found += join.finish().num_rows
    assert found == rows
    assert most < rows / 2, "payload is kept for ever"


def test_payload_of_results_that_nobody_has_read_stays() -> None:
    with join_of(window=Window(rows=1)) as join:
        for key in range(5000):
            join.push(left={"k": key})
            join.push(right={"k": key})
        assert sorted(join.finish()["k"].to_pylist()) == list(range(5000))
