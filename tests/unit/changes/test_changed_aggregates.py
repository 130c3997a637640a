"""An aggregate over a column that its rows did not have: whole from the next window on, as the rule says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from differential.local_duckdb import aggregated
from dovetail.changes.leftovers import remove_leftovers
from dovetail.changes.takeover import Takeover, consider, take_over
from dovetail.engine.copying import settle
from dovetail.local.graph import Graph, StageJournal
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import Plan
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.write_rows import bucket_of, time_of

QUERY = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, cost BIGINT) FROM SCRIBE("a");
    CREATE TABLE sums AS SELECT window(t, '5 minutes').start AS start, SUM(k) AS n FROM a
        GROUP BY window(t, '5 minutes') STORAGE NOOP;
"""
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("cost", pa.int64())])
START = datetime(2026, 1, 1, tzinfo=UTC)


def considered(home: str, text: str, before: Plan | None = None) -> Takeover:
    program = parse(text)
    return consider(home, plans_of(trace_program(program), before), program)


def feed(home: str, inputs: str, minutes: range) -> None:
    for name in inputs:
        category = Category.create(home, name, SCHEMA, buckets=1)
        rows = [
            {"t": START + timedelta(minutes=minute), "k": 1 if inputs == "a" else minute, "cost": 10}
            for minute in minutes
        ]
        batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
        category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))


def run(home: str, plan: Plan, journals: dict[str, StageJournal], *, final: bool = False) -> Graph:
    graph = Graph(plan, home, home, journals=journals, aggregation=aggregated)
    while [runner for runner in graph.runners.values() if runner.step(final=final)]:
        pass
    settle()
    return graph


def sums_of(graph: Graph) -> list[tuple[int, int]]:
    """By the minute in which each window begins."""
    rows = graph.tables()["sums"].to_pylist()
    return sorted((round((row["start"] - START).total_seconds() / 60), row["n"]) for row in rows)


def changed(home: str, text: str) -> tuple[str, list[tuple[int, int]]]:
    """What the rule says; and the sums by their window, after a change in the middle of the second one. Each
    minute has a row, with k = 1 and cost = 10."""
    journals = dict[str, StageJournal]()
    first = considered(home, QUERY)
    take_over(first)
    open_store(home).make_folder("apps/app/checkpoints/sums")  # as a run would
    feed(home, "a", range(7))
    run(home, first.plan, journals)
    change = considered(home, text)
    take_over(change)
    feed(home, "a", range(7, 15))
    graph = run(home, change.plan, journals, final=True)
    (said,) = (str(one.flight) for one in change.changes if one.rule == "aggregates")
    return said, sums_of(graph)


def test_of_a_column_that_rows_have_had_all_along(tmp_path: Path) -> None:
    said, sums = changed(str(tmp_path), QUERY.replace("SUM(k)", "SUM(k + 1)"))
    assert said == "windows that are open are aggregated by the new query, from all of their rows"
    assert sums == [(0, 10), (5, 10), (10, 10)]


def test_of_a_new_column(tmp_path: Path) -> None:
    said, sums = changed(str(tmp_path), QUERY.replace("SUM(k)", "SUM(cost)"))
    assert said.startswith("cost is null in windows that have rows from before the change")
    assert said.endswith("windows that begin after it are whole")
    by_window = dict(sums)
    assert by_window[5] is None, "two of its five rows have no cost: there is no sum of the others"
    assert by_window[10] == 50


JOINED = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, cost BIGINT) FROM SCRIBE("a");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, cost BIGINT) FROM SCRIBE("b");
    CREATE VIEW v AS SELECT a.t AS t, a.k AS k FROM a JOIN b ON a.k = b.k
        AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
    CREATE TABLE sums AS SELECT window(t, '5 minutes').start AS start, SUM(k) AS n FROM v
        GROUP BY window(t, '5 minutes') STORAGE NOOP;
"""
BESIDE = "CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;"


def test_an_aggregate_goes_on_when_the_last_table_beside_it_goes(tmp_path: Path) -> None:
    """Its rows come out of the view's category, as before, although the join alone could feed it now."""
    home, journals = str(tmp_path), dict[str, StageJournal]()
    first = considered(home, JOINED + BESIDE)
    take_over(first)
    open_store(home).make_folder("apps/app/checkpoints/sums")  # as a run would
    feed(home, "ab", range(7))
    run(home, first.plan, journals)
    second = considered(home, JOINED, first.plan)
    assert [(change.part, change.verdict) for change in second.changes] == [("table o", "kept")]
    take_over(second)
    feed(home, "ab", range(7, 20))
    graph = run(home, second.plan, journals, final=True)
    assert sums_of(graph) == [(0, 10), (5, 35), (10, 60), (15, 85)]
    assert not considered(home, JOINED, second.plan).changes


def test_an_aggregate_goes_on_when_a_table_is_added_beside_it(tmp_path: Path) -> None:
    """Its rows came out of the join itself, and come out of the view's category from the change on. What the
    join has promised where it writes no more neither holds the aggregate back nor lets it run ahead."""
    home, journals = str(tmp_path), dict[str, StageJournal]()
    first = considered(home, JOINED)
    take_over(first)
    open_store(home).make_folder("apps/app/checkpoints/sums")  # as a run would
    feed(home, "ab", range(7))
    run(home, first.plan, journals)
    rows = Category.open(home, "app.sums.rows")
    promised = rows.commit(rows.next_commit() - 1).promised("_time")
    second = considered(home, JOINED + BESIDE, first.plan)
    assert [(change.part, change.verdict) for change in second.changes] == [("table o", "kept")]
    take_over(second)
    for _ in range(2):  # also after a run that was killed at it
        remove_leftovers(home, "app")
        assert rows.commit(rows.next_commit() - 1).promised("_time") == promised
    graph = run(home, second.plan, journals)
    assert "sums" not in graph.tables(), "no row has come that could close a window"
    feed(home, "ab", range(7, 20))
    graph = run(home, second.plan, journals)
    assert sums_of(graph) == [(0, 10), (5, 35)], "it follows what the new writer promises"
    feed(home, "ab", range(20, 26))
    graph = run(home, second.plan, journals, final=True)
    assert sums_of(graph) == [(0, 10), (5, 35), (10, 60), (15, 85), (20, 110), (25, 25)]
    assert sorted(graph.tables()["o"]["k"].to_pylist()) == list(range(7, 26)), "each row from the change on"
    assert not considered(home, JOINED + BESIDE, second.plan).changes


def test_an_aggregate_goes_while_tables_come_that_read_its_view(tmp_path: Path) -> None:
    home, other = str(tmp_path), JOINED[: JOINED.index("CREATE TABLE")]
    first = considered(home, JOINED)
    take_over(first)
    open_store(home).make_folder("apps/app/checkpoints/sums")
    second = considered(home, other + BESIDE + BESIDE.replace("o AS", "p AS"), first.plan)
    said = {(change.part, change.verdict) for change in second.changes}
    assert said == {
        ("aggregate sums", "let go"),
        ("table sums", "kept"),
        ("table o", "kept"),
        ("table p", "kept"),
    }
