"""The streams of `bench streams`, their batch join beside the obvious loops, their query, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.streams import Joined, main, table
from bench.streams_between import once_more_cpu_s
from bench.streams_child import Figures, Intermediate
from bench.streams_work import Result, Streams, batch_join, columns, query, written

from dovetail.local.graph import Graph
from dovetail.log.category import Category
from dovetail.pql import compile_pql

WANTED, OTHER = Result(7, "11"), Result(7, "12")


def rows_of(streams: Streams, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(streams.files_of(name)).to_pylist()
    return found


def test_the_batch_join_is_that_of_the_loops(tmp_path: Path) -> None:
    streams = Streams(str(tmp_path / "in"), 3, 60, files=2, partners=2.0)
    assert streams.generate() > 0
    a, b, c = (rows_of(streams, name) for name in "abc")
    made = [
        {"key": x["key"]}
        | {
            f"{name}_{what}": row[what]
            for name, row in zip("abc", (x, y, z), strict=True)
            for what in ("id", "amount", "label")
        }
        for x in a
        for y in b
        for z in c
        if x["key"] == y["key"] == z["key"]
        and all(abs((x["eventtime"] - other["eventtime"]).total_seconds()) <= 180 for other in (y, z))
    ]
    assert made
    (tmp_path / "out").mkdir()
    pq.write_table(pa.Table.from_pylist(made).select(list(columns(streams))), tmp_path / "out" / "0.parquet")
    assert batch_join(streams) == written(streams, tmp_path / "out")
    pq.write_table(pa.Table.from_pylist(made[1:]), tmp_path / "out" / "0.parquet")
    assert batch_join(streams) != written(streams, tmp_path / "out")


def test_rows_find_as_many_partners_at_every_size(tmp_path: Path) -> None:
    for rows in (3_000, 30_000):
        streams = Streams(str(tmp_path / str(rows)), 3, rows)
        streams.generate()
        assert 0.85 < batch_join(streams).rows / rows < 1.15


@pytest.mark.parametrize("count", [3, 5])
def test_the_query_is_a_chain(count: int, tmp_path: Path) -> None:
    streams = Streams(str(tmp_path), count, 10)
    plan = compile_pql(query(streams, 60, tmp_path / "out"))
    assert len(plan.joins) == count - 1


def test_figures() -> None:
    ours = Figures(2.0, 3.0, WANTED, Intermediate(10, 40, 100, 0.3, 0.5))
    joined = Joined(3, 600, WANTED, {"dovetail": [ours], "spark": [Figures(8.0, 9.0, WANTED)]})
    assert joined.equal
    assert joined.ratio == 4
    assert joined.between == {"bytes": 0.4, "cpu": pytest.approx(0.1), "steps": 0.25}
    assert joined.to_json()["dovetail_rows_per_s"] == [300]
    assert table([joined]).row_count == 2
    alone = Joined(3, 600, WANTED, {"spark": [Figures(8.0, 9.0, OTHER)]})
    assert not alone.equal
    assert alone.ratio is alone.between is None
    assert Figures.from_json(alone.to_json()["runs"]["spark"][0]) == Figures(8.0, 9.0, OTHER)


def test_the_rows_between_joins_are_written_once_more(tmp_path: Path) -> None:
    streams = Streams(str(tmp_path / "in"), 3, 60, files=2, partners=2.0)
    delay_s = streams.generate()
    plan = compile_pql(query(streams, delay_s, tmp_path / "out"))
    graph = Graph(plan, str(tmp_path), str(tmp_path / "log"))
    graph.drain()
    fed = "bench_streams.joined.left"
    assert once_more_cpu_s(graph.work, [fed], tmp_path / "more") >= 0
    once, again = (Category.open(home, fed) for home in (graph.work, str(tmp_path / "more")))
    rows = [[commit.rows for commit in log.commits(0, log.next_commit())] for log in (once, again)]
    assert rows[0] == rows[1]
    assert sum(rows[0]) > 0


@pytest.mark.parametrize("wrong", [["--streams", "2"], ["--streams", "9"], ["--rows", "3"]])
def test_what_cannot_be_joined_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(wrong)
    assert "error" in capsys.readouterr().err
