"""A wider window may let rows out that are older than what was promised: it is said, to whom, and counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from dovetail.changes.promises import older_than_promised
from dovetail.changes.takeover import carried
from dovetail.changes.verdict import Change
from dovetail.engine.copying import settle
from dovetail.engine.measure import measure
from dovetail.local.graph import Graph, StageJournal
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import application_path, encode
from dovetail.plan.configure import join_config
from dovetail.plan.physical import Plan
from dovetail.pql.compile import compile_pql
from dovetail.slicing.write_rows import bucket_of, time_of

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])
INPUTS = "".join(
    f'CREATE INPUT TABLE {name} (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("{name}");' for name in "abc"
)
PQL = (
    "CREATE APPLICATION app;"
    + INPUTS
    + """
    CREATE VIEW ab AS SELECT b.t AS t, a.t AS at, a.k AS k, a.id AS a, b.id AS b FROM a JOIN b
        ON b.k = a.k AND b.t BETWEEN a.t - INTERVAL '{before} minutes' AND a.t + INTERVAL '{after} minutes'
        WITH (max_delay = INTERVAL '1 second', confirmed_by = 1);
    CREATE VIEW abc AS SELECT ab.a AS a, ab.b AS b, c.id AS c FROM ab LEFT JOIN c
        ON c.k = ab.k AND c.t BETWEEN ab.{time} - INTERVAL '1 minute' AND ab.{time} + INTERVAL '1 minute'
        WITH (max_delay = INTERVAL '1 second', confirmed_by = 1);
    CREATE TABLE out AS SELECT a, b, c FROM abc STORAGE NOOP;
"""
)


def plan(before: int, after: int = 1, time: str = "t") -> Plan:
    return compile_pql(PQL.format(before=before, after=after, time=time))


def said(home: Path, old: Plan, new: Plan) -> list[Change]:
    return older_than_promised(str(home), old, new)


def test_who_reads_the_older_times_is_named(tmp_path: Path) -> None:
    (change,) = said(tmp_path, plan(2), plan(30))
    assert change.part == "join ab"
    assert change.what == "rows may be older than promised, by up to 31 minutes"
    assert "counted as late by join abc" in (change.flight or "")
    assert change.instead


def test_what_keeps_its_promises_is_not_spoken_of(tmp_path: Path) -> None:
    assert said(tmp_path, plan(30), plan(2)) == [], "narrower"
    assert said(tmp_path, plan(2, 1), plan(2, 30)) == [], "what is later breaks no promise"
    assert said(tmp_path, plan(2, time="at"), plan(30, time="at")) == [], "left rows that closed stay closed"


def test_readers_in_other_applications_are_named(tmp_path: Path) -> None:
    upper = (
        "CREATE APPLICATION upper;"
        + INPUTS
        + "CREATE VIEW ab AS SELECT b.t AS t, a.k AS k FROM a JOIN b ON b.k = a.k "
        "AND b.t BETWEEN a.t - INTERVAL '{} minutes' AND a.t;"
        'CREATE TABLE shared AS SELECT t, k FROM ab STORAGE SCRIBE(category = "shared");'
    )
    lower = compile_pql(
        'CREATE APPLICATION lower; CREATE INPUT TABLE s (t TIMESTAMP, k BIGINT) FROM SCRIBE("shared");'
        'CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("c");'
        "CREATE VIEW sc AS SELECT s.k AS k, c.id AS c FROM s JOIN c ON c.k = s.k "
        "AND c.t BETWEEN s.t AND s.t + INTERVAL '1 minute';"
        "CREATE TABLE out AS SELECT k, c FROM sc STORAGE NOOP;"
    )
    old, new = (compile_pql(upper.format(minutes)) for minutes in (2, 30))
    assert said(tmp_path, old, new) == []
    home, store = str(tmp_path), open_store(str(tmp_path))
    shared = Category.create(home, "shared", pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64())]))
    shared.set_reader("lower.sc.left", 0, application="lower")
    store.make_folder("apps/lower")
    store.replace(application_path("lower"), encode(lower))
    (change,) = said(tmp_path, old, new)
    assert "join sc of application lower" in (change.flight or "")
    store.replace(application_path("lower"), b"damaged")
    (change,) = said(tmp_path, old, new)
    assert "late by application lower" in (change.flight or "")


def write(home: str, name: str, *rows: tuple[int, int]) -> None:
    """A commit of rows: minute and key, which is also their number."""
    category = Category.create(home, name, SCHEMA, buckets=1)
    said = [{"t": START + timedelta(minutes=minute), "k": key, "id": key} for minute, key in rows]
    batch = pa.RecordBatch.from_pylist(said, SCHEMA)
    category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))


def test_rows_below_a_promise_are_counted_where_they_are_late(tmp_path: Path) -> None:
    """The change lets out a pair with a right row of minute 5, when the reader's time is at minute 27."""
    home, journals = str(tmp_path), dict[str, StageJournal]()

    def run(plan: Plan) -> Graph:
        graph = Graph(plan, home, home, journals=journals)
        while [runner for runner in graph.runners.values() if runner.step()]:
            pass
        settle()
        return graph

    def late(graph: Graph) -> tuple[int, int]:
        stage = next(join for join in graph.plan.joins if join.name == "abc")
        found = measure(join_config(graph.plan, stage, home, tasks=1), 0)
        return found.left.late, found.left.rows

    write(home, "b", (5, 1))
    write(home, "c", (5, 1), (40, 9))
    write(home, "a", (20, 2))
    write(home, "b", (20, 2), (30, 8))
    write(home, "a", (29, 1), (30, 8))
    graph = run(plan(2))
    assert late(graph) == (0, 2)
    graph = run(carried(graph.plan, plan(30)))
    assert late(graph) == (1, 3), "the pair of the change has come, and is counted as late"
    for runner in graph.runners.values():
        while runner.step(final=True):
            pass
    rows = {tuple(row.values()) for row in graph.tables()["abc"].to_pylist()}
    assert (1, 1, None) in rows, "and it is not lost: only its partner had gone"
