"""A graph of stages in one process: time passes from join to join, and what is ahead waits at the inputs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.engine.downstream import must_wait, unread_rows
from dovetail.local.graph import Graph, StageJournal
from dovetail.log.category import Category
from dovetail.plan.configure import join_config
from dovetail.pql.compile import compile_pql
from dovetail.slicing.write_rows import bucket_of, time_of

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("a");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("b");
    CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("c");
    CREATE VIEW ab AS SELECT a.t AS t, a.k AS k, a.id AS a, b.id AS b FROM a LEFT JOIN b
        ON b.k = a.k AND b.t BETWEEN a.t AND a.t + INTERVAL '5 minutes'
        WITH (max_delay = INTERVAL '1 second', confirmed_by = 1, max_step_rows = 10);
    CREATE VIEW abc AS SELECT ab.a AS a, ab.b AS b, c.id AS c FROM ab LEFT JOIN c
        ON c.k = ab.k AND c.t BETWEEN ab.t - INTERVAL '1 minute' AND ab.t + INTERVAL '1 minute'
        WITH (max_delay = INTERVAL '1 second', confirmed_by = 1{options});
    CREATE TABLE out AS SELECT a, b, c FROM abc STORAGE NOOP;
"""
MINUTES = 40


def write(home: str, name: str, first: int, count: int, odd: int = 0) -> None:
    """A commit for every row, a row for every minute; each minute is a key, to which `odd` ones add that."""
    category = Category.create(home, name, SCHEMA, buckets=1)
    for n in range(first, first + count):
        row = {"t": START + timedelta(minutes=n), "k": n + n % 2 * odd, "id": n}
        batch = pa.RecordBatch.from_pylist([row], SCHEMA)
        category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))


def graph_of(home: Path, options: str = "", journals: dict[str, StageJournal] | None = None) -> Graph:
    for name in "abc":
        Category.create(str(home), name, SCHEMA, buckets=1)
    return Graph(compile_pql(PQL.format(options=options)), str(home), str(home), journals=journals)


def run(graph: Graph) -> None:
    while [runner for runner in graph.runners.values() if runner.step()]:
        pass


def found(graph: Graph) -> list[tuple[int | None, ...]]:
    return sorted(tuple(row.values()) for row in graph.tables()["abc"].to_pylist())


@pytest.mark.parametrize(("time", "lost"), [("inherited", [0]), ("fixed", range(15, 21))])
def test_lone_rows_of_a_join_find_their_partners_in_the_next(
    tmp_path: Path, time: str, lost: Collection[int]
) -> None:
    """Every other row of `a` has a partner in `b` and comes out at once. The others come out alone, five
    minutes after their time. With a time of its own the second join has let go of their partners by then."""
    graph, home = graph_of(tmp_path, f', stream_time = "{time}"'), str(tmp_path)
    for n in range(MINUTES + 10):
        if n < MINUTES:
            write(home, "a", n, 1)
            write(home, "c", n, 1)
        write(home, "b", n, 1, odd=1000)
        run(graph)
    graph.drain()
    partners = [c for _, _, c in found(graph)]
    assert len(partners) == MINUTES
    assert partners.count(None) in lost  # of twenty; those at the end are drained


FIXED = "max_delay = INTERVAL '1 second', confirmed_by = 1"
LEARNED = 'stream_time = "percentile"'


@pytest.mark.parametrize(("first", "second"), [(LEARNED, FIXED), (FIXED, LEARNED)])
def test_a_learned_time_above_a_fixed_one_and_the_reverse(tmp_path: Path, first: str, second: str) -> None:
    """What a join promises holds whichever way it came to its time, so a side that inherits loses nothing. A
    join below that learns its own time has learned how late lone rows are."""
    text = PQL.format(options="").replace(FIXED, "FIRST", 1).replace(FIXED, "SECOND", 1)
    text = text.replace("FIRST", first).replace("SECOND", second)
    home = str(tmp_path)
    for name in "abc":
        Category.create(home, name, SCHEMA, buckets=1)
    graph = Graph(compile_pql(text), home, home)
    for n in range(MINUTES + 10):
        if n < MINUTES:
            write(home, "a", n, 1)
            write(home, "c", n, 1)
        write(home, "b", n, 1, odd=1000)
        run(graph)
    graph.drain()
    rows = found(graph)
    assert [a for a, _, _ in rows] == [*range(MINUTES)]
    assert [b for _, b, _ in rows] == [None if a % 2 else a for a in range(MINUTES)]
    assert [c for _, _, c in rows] == [*range(MINUTES)]


def test_what_is_ahead_waits_at_the_inputs_and_not_in_the_middle(tmp_path: Path) -> None:
    """Nothing comes from `c`, so the paced second join takes no more rows of the first, which stops as well.
    A graph that goes on from its journals stops at the same place. When `c` comes, all flows again."""
    graph = graph_of(tmp_path, ", pacing = \"on\", idle_timeout = INTERVAL '1 day'")
    home = str(tmp_path)
    for name in "ab":
        write(home, name, 0, MINUTES)
    run(graph)
    first, _ = graph.plan.joins
    (feed,) = join_config(graph.plan, first, home, tasks=1).feeds
    unread = unread_rows(home, feed)
    assert first.settings.max_step_rows < unread < MINUTES / 2, "it piles up in the middle"
    again = graph_of(tmp_path, ", pacing = \"on\", idle_timeout = INTERVAL '1 day'", graph.journals)
    run(again)
    assert unread_rows(home, feed) == unread
    write(home, "c", 0, MINUTES)
    run(again)
    assert unread_rows(home, feed) < unread
    again.drain()
    assert found(again) == [(n, n, n) for n in range(MINUTES)]


@pytest.mark.parametrize(
    ("unread", "waits"), [([], False), ([11], True), ([10], False), ([11, 0], False), ([1, 11], True)]
)
def test_a_reader_with_nothing_to_read_comes_first(unread: list[int], waits: bool) -> None:
    assert must_wait(unread, 10) == waits
