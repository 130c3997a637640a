"""The demo's streams are what its docstring says: the paper's match rates, one stream ordered, one not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dovetail.pql.parser import parse
from dovetail.service.demo import APPLICATION
from dovetail.service.demo.batch_join import batch_rates, read_columns
from dovetail.service.demo.feed import append, create_categories
from dovetail.service.demo.query import AFTER_US, BEFORE_US, write_query
from dovetail.service.demo.streams import CLIENT, MINUTE_US, SERVER, DemoStreams

SECONDS = 60
Minutes = np.ndarray[tuple[int], np.dtype[np.float64]]


def stream(seed: int = 7, seconds: int = SECONDS, searches_per_s: int = 500) -> tuple[pa.Table, pa.Table]:
    streams = DemoStreams(seed, searches_per_s=searches_per_s)
    pairs = [streams.batches(second) for second in range(seconds)]
    return pa.concat_tables([left for left, _ in pairs]), pa.concat_tables([right for _, right in pairs])


@pytest.fixture(scope="module")
def both() -> tuple[pa.Table, pa.Table]:
    return stream()


def lateness_minutes(rows: pa.Table) -> Minutes:
    """How far each row is behind the latest event time before it."""
    times = rows.column("eventtime").cast(pa.int64()).to_numpy()
    return (np.maximum.accumulate(times) - times) / MINUTE_US


def test_schemas_and_rates(both: tuple[pa.Table, pa.Table]) -> None:
    left, right = both
    assert left.schema == CLIENT
    assert right.schema == SERVER
    assert right.num_rows == pytest.approx(SECONDS * 500 * 0.942, rel=0.03)
    assert left.num_rows == pytest.approx(SECONDS * 500 * 1.3, rel=0.05)
    assert pc.count_distinct(right.column("search_id")).as_py() == right.num_rows, "a search is answered once"


def test_match_rates_are_near_the_papers(both: tuple[pa.Table, pa.Table]) -> None:
    left, right = both
    rates = batch_rates(
        left, right, key="search_id", time="eventtime", before_us=BEFORE_US, after_us=AFTER_US
    )
    assert 0.92 < rates.in_window < 0.935
    assert 0.937 < rates.at_any_time < 0.948
    assert rates.left_rows == left.num_rows


def test_servers_are_in_order_and_clients_are_not(both: tuple[pa.Table, pa.Table]) -> None:
    left, right = (lateness_minutes(rows) for rows in both)
    assert right.max() < 1
    assert np.quantile(left, 0.9) > 1
    assert np.quantile(left, 0.999) > 10


def test_the_new_ranking_is_worse_and_comes_later(both: tuple[pa.Table, pa.Table]) -> None:
    left, right = both
    versions = right.column("ranking_version")
    assert "r42" not in versions.slice(0, 5_000).to_pylist()
    clicks = left.join(right.select(["search_id", "ranking_version"]), "search_id").group_by(
        "ranking_version"
    )
    means = clicks.aggregate([("clicked_position", "mean")]).to_pylist()
    by_version = {row["ranking_version"]: row["clicked_position_mean"] for row in means}
    assert by_version["r42"] > by_version["r41"] + 1


def test_the_seed_decides_everything() -> None:
    first, again, other = stream(1, 5), stream(1, 5), stream(2, 5)
    assert first[0].equals(again[0])
    assert first[1].equals(again[1])
    assert not first[0].equals(other[0])


def test_seconds_come_in_order() -> None:
    with pytest.raises(ValueError, match="the next one is 0"):
        DemoStreams(7).batches(1)


def test_rows_do_not_come_before_they_happen() -> None:
    """Client clocks are up to some seconds ahead; nothing else may be from the future."""
    streams = DemoStreams(7, searches_per_s=500)
    for second in range(10):
        left, right = streams.batches(second)
        end_us = streams.start_us + (second + 1) * MINUTE_US
        assert pc.max(right.column("eventtime").cast(pa.int64())).as_py() < end_us
        assert pc.max(left.column("eventtime").cast(pa.int64())).as_py() < end_us + MINUTE_US // 2


def test_what_is_fed_can_be_read_back(tmp_path: Path) -> None:
    left, right = create_categories(str(tmp_path))
    streams = DemoStreams(7, searches_per_s=200)
    fed = []
    for second in range(3):
        client, server = streams.batches(second)
        append(left, client, second)
        append(left, client, second)  # a batch enters once
        append(right, server, second)
        fed.append(client)
    assert read_columns(left, CLIENT.names).equals(pa.concat_tables(fed))
    assert left.next_commit() == 3
    assert left.commit(2).sketch.max_us == pc.max(fed[2].column("eventtime").cast(pa.int64())).as_py()


def test_batch_rates_by_hand() -> None:
    time = pa.timestamp("us", tz="UTC")
    left = pa.table({"k": ["a", "a", "b", "c"], "t": pa.array([10, 50, 10, 10], time)})
    right = pa.table({"k": ["a", "a", "b"], "t": pa.array([7, 9, 13], time)})
    rates = batch_rates(left, right, key="k", time="t", before_us=3, after_us=2)
    assert (rates.in_window, rates.at_any_time) == (0.25, 0.75)
    assert batch_rates(left, right, key="k", time="t", before_us=3, after_us=3).in_window == 0.5


def test_the_query_parses(tmp_path: Path) -> None:
    path = write_query(tmp_path)
    assert parse(path.read_text(), name=str(path)).application == APPLICATION
