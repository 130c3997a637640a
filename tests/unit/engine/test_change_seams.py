"""Changes that meet something else: a chain whose joins both change, a stream that is paused, a change before
the one before it took over."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from change_oracle import ChangingJoin, Spec
from dovetail.changes.leftovers import remove_leftovers
from dovetail.changes.takeover import carried, consider, take_over
from dovetail.changes.timeline import timeline
from dovetail.engine.copying import settle
from dovetail.engine.planner import HostClock
from dovetail.local.graph import Graph, StageJournal
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from dovetail.plan.physical import CategoryOutput, Plan
from dovetail.pql.compile import compile_pql, plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.write_rows import bucket_of, time_of
from replaying import Replayed
from spark.application import category_rows
from unit.changes.test_takeover import QUERY, WIDER, considered, started
from unit.engine.stepping import Driven

MINUTE = 60_000_000
START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])
CHAIN = (
    "CREATE APPLICATION app;"
    + "".join(
        f'CREATE INPUT TABLE {name} (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("{name}");'
        for name in "abc"
    )
    + """
    CREATE VIEW ab AS SELECT a.t AS t, a.k AS k, a.id AS a, b.id AS b FROM a {how} JOIN b
        ON b.k = a.k AND b.t BETWEEN a.t - INTERVAL '{before} minutes' AND a.t + INTERVAL '5 minutes'
        WITH (max_delay = INTERVAL '2 minutes', confirmed_by = 1, history = INTERVAL '1 day');
    CREATE VIEW abc AS SELECT ab.a AS a, ab.b AS b, c.id AS c FROM ab LEFT JOIN c
        ON c.k = ab.k AND c.t BETWEEN ab.t - INTERVAL '1 minute' AND ab.t + INTERVAL '{after} minutes'
        WITH (max_delay = INTERVAL '2 minutes', confirmed_by = 1, history = INTERVAL '1 day');
    CREATE TABLE out AS SELECT a, b, c FROM abc STORAGE NOOP;
"""
)


def write(home: str, name: str, rng: random.Random, minute: int, first: int) -> None:
    category = Category.create(home, name, SCHEMA, buckets=1)
    rows = [
        {
            "t": START + timedelta(minutes=minute, seconds=rng.randrange(-100, 20)),
            "k": rng.randrange(4),
            "id": n,
        }
        for n in range(first, first + 3)
    ]
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))


def plan(before: int, how: str, after: int) -> Plan:
    return compile_pql(CHAIN.format(before=before, how=how, after=after))


VERSIONS = [(2, "LEFT", 1), (9, "LEFT", 1), (9, "LEFT", 6), (3, "", 4)]


def specs(before: int, how: str, after: int) -> dict[str, Spec]:
    return {
        "ab": Spec(before * MINUTE, 5 * MINUTE, how.lower() or "inner", "all", "first"),
        "abc": Spec(MINUTE, after * MINUTE, "left", "all", "first"),
    }


def test_both_joins_of_a_chain_change(tmp_path: Path) -> None:
    """First the upper one, then the lower one, then both; each step by step as the oracle."""
    home, journals, rng = str(tmp_path), dict[str, StageJournal](), random.Random(8)
    first = specs(*VERSIONS[0])
    expected = {
        "ab": Replayed(home, "app", ("a", "_r_id"), ChangingJoin(first["ab"]), {}),
        "abc": Replayed(home, "app", ("a", "_r_id"), ChangingJoin(first["abc"]), {}),
    }
    found, wanted = Counter(), dict[str, Counter]()
    before: Plan | None = None
    for version, given in enumerate(VERSIONS, 1):
        now = plan(*given) if before is None else carried(before, plan(*given))
        for name, join in expected.items():
            join.became[version] = lambda oracle, spec=specs(*given)[name]: oracle.change(spec)
        for minute in range(version * 12, version * 12 + 12):
            for name in "abc":
                write(home, name, rng, minute, first=minute * 3)
            graph = Graph(now, home, home, journals=journals)
            while [runner for runner in graph.runners.values() if runner.step()]:
                pass
        for runner in graph.runners.values() if version == len(VERSIONS) else ():
            while runner.step(final=True):
                pass
        for stage in now.joins:
            rows = expected[stage.name].rows(version, stage)
            wanted[stage.name] = wanted.get(stage.name, Counter()) + Counter(rows)
        before = now
    settle()
    assert before is not None
    side = Category.open(home, before.joins[-1].left)
    for commit in side.commits(0, side.next_commit()):
        for info in commit.segments:
            batch = side.open_segment(info).batch
            found.update(zip(batch["a"].to_pylist(), batch["b"].to_pylist(), strict=True))
    assert found == wanted["ab"]
    rows = graph.tables()["abc"].to_pylist()
    assert Counter((row["a"], row["c"]) for row in rows) == wanted["abc"]
    assert len(rows) > 100


def test_the_upper_join_of_a_chain_goes_and_comes_back(tmp_path: Path) -> None:
    """What the lower one puts out goes to a table in between. Its state is kept, and each row goes to the one
    or to the other, once."""
    home, journals, rng = str(tmp_path), dict[str, StageJournal](), random.Random(8)
    clock = HostClock(lambda: 0, lambda: 0)
    chain = CHAIN.format(before=2, how="LEFT", after=1)
    upper = chain[chain.index("    CREATE VIEW abc ") :]
    alone = chain.replace(upper, "CREATE TABLE lower AS SELECT a, b FROM ab STORAGE NOOP;")
    oracle = ChangingJoin(Spec(2 * MINUTE, 5 * MINUTE, "left", "all", "first"))
    expected = Replayed(home, "app", ("a", "_r_id"), oracle, {})
    for version, text in enumerate((chain, alone, chain), 1):
        takeover = considered(home, text)
        assert {change.rule for change in takeover.changes} <= {"tables"}
        take_over(takeover)
        open_store(home).make_folder("apps/app/checkpoints/ab")  # as a run would
        remove_leftovers(home, "app")
        now = takeover.plan
        journals = {stage.name: journals.get(stage.name, StageJournal()) for stage in now.stages}
        for minute in range(version * 12, version * 12 + 12):
            for name in "abc":
                write(home, name, rng, minute, first=minute * 3)
            graph = Graph(now, home, home, journals=journals, clock=clock)
            while [runner for runner in graph.runners.values() if runner.step(final=minute == 47)]:
                pass
        settle()
        lower = next(stage for stage in now.joins if stage.name == "ab")
        if isinstance(lower.output, CategoryOutput):
            found = category_rows(home, lower.output.category).to_pylist()
            assert graph.tables()["abc"].num_rows > 20
        else:
            found = graph.tables()["ab"].to_pylist()
        assert Counter((row["a"], row["b"]) for row in found) == Counter(expected.rows(version, lower))
        assert len(found) > 20
    assert lower.query == 1, "it means what it has meant all along"


def test_a_table_comes_that_reads_the_lower_join_of_a_chain_and_goes_again(tmp_path: Path) -> None:
    """The lower join wrote the side of the upper one. From the change on that is made of the lower one's
    category, and it stays so: each row goes to the upper join once, and to the table once while it is there.
    """
    home, journals, rng = str(tmp_path), dict[str, StageJournal](), random.Random(8)
    clock = HostClock(lambda: 0, lambda: 0)
    chain = CHAIN.format(before=2, how="LEFT", after=1)
    beside = chain + "CREATE TABLE lower AS SELECT a, b FROM ab STORAGE NOOP;"
    oracles = {name: ChangingJoin(spec) for name, spec in specs(2, "LEFT", 1).items()}
    expected = {name: Replayed(home, "app", ("a", "_r_id"), one, {}) for name, one in oracles.items()}
    wanted: dict[str, Counter] = {"ab": Counter(), "abc": Counter()}
    before: Plan | None = None
    for version, text in enumerate((chain, beside, chain), 1):
        program = parse(text)
        takeover = consider(home, plans_of(trace_program(program), before), program)
        assert {(change.part, change.verdict) for change in takeover.changes} <= {("table lower", "kept")}
        assert bool(takeover.changes) == (version > 1)
        take_over(takeover)
        open_store(home).make_folder("apps/app/checkpoints/ab")  # as a run would
        remove_leftovers(home, "app")
        before = now = takeover.plan
        for minute in range(version * 12, version * 12 + 12):
            for name in "abc":
                write(home, name, rng, minute, first=minute * 3)
            graph = Graph(now, home, home, journals=journals, clock=clock)
            while [runner for runner in graph.runners.values() if runner.step(final=minute == 47)]:
                pass
        settle()
        for stage in now.joins:
            rows = Counter(expected[stage.name].rows(version, stage))
            wanted[stage.name] += rows
            if stage.name == "ab" and version == 2:
                lower = graph.tables()["lower"].to_pylist()
                assert Counter((row["a"], row["b"]) for row in lower) == rows
                assert len(lower) > 20
    side = category_rows(home, "app.abc.left").to_pylist()
    assert Counter((row["a"], row["b"]) for row in side) == wanted["ab"]
    rows = graph.tables()["abc"].to_pylist()
    assert Counter((row["a"], row["c"]) for row in rows) == wanted["abc"]
    assert len(rows) > 100


PACED = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("a");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("b");
    CREATE VIEW ab AS SELECT a.id AS a, b.id AS b FROM a LEFT JOIN b
        ON b.k = a.k AND b.t BETWEEN a.t - INTERVAL '{before} minutes' AND a.t + INTERVAL '5 minutes'
        WITH (pacing = "on", slack = INTERVAL '1 minute', max_delay = INTERVAL '2 minutes', confirmed_by = 1,
              history = INTERVAL '1 day');
    CREATE TABLE out AS SELECT a, b FROM ab STORAGE NOOP;
"""


def test_a_change_while_a_stream_is_paused(tmp_path: Path) -> None:
    """The right stream is an hour ahead and has to wait for the left one. The change is made all the same,
    the pause lasts on after it, and every row comes out as the oracle says."""
    home, journals, rng = str(tmp_path), dict[str, StageJournal](), random.Random(5)
    clock = HostClock(lambda: 0, lambda: 0)
    old = Spec(2 * MINUTE, 5 * MINUTE, "left", "all", "first")
    join = Replayed(home, "app", ("a", "_r_id"), ChangingJoin(old), {})
    join.became[2] = lambda oracle: oracle.change(old._replace(before=9 * MINUTE))
    first = compile_pql(PACED.format(before=2))
    second = carried(first, compile_pql(PACED.format(before=9)))
    for minute in range(60):
        write(home, "b", rng, minute, first=minute * 3)

    def run(plan: Plan, minutes: range, *, final: bool = False) -> JoinOffset:
        for minute in minutes:
            write(home, "a", rng, minute, first=minute * 3)
        graph = Graph(plan, home, home, journals=journals, clock=clock)
        while [runner for runner in graph.runners.values() if runner.step(final=final)]:
            pass
        offset: JoinOffset = journals["ab"].ends[-1]
        return offset

    paused = run(first, range(12))
    ahead = Category.open(home, first.joins[0].right).next_commit()
    assert paused.right < ahead, "it is paused"
    wanted = Counter(join.rows(1, first.joins[0]))
    changed = run(second, range(0))
    assert (changed.step, changed.query) == (paused.step + 1, 2)
    assert (changed.left, changed.right) == (paused.left, paused.right), "it is paused as before"
    assert paused.right < run(second, range(12, 30)).right < ahead, "it goes on with the other one"
    run(second, range(30, 60), final=True)
    wanted += Counter(join.rows(2, second.joins[0]))
    found = Counter(
        (row["a"], row["b"])
        for row in Graph(second, home, home, journals=journals).tables()["ab"].to_pylist()
    )
    assert found == wanted
    assert len(found) > 200


def test_a_second_change_before_the_first_took_over(tmp_path: Path) -> None:
    """Two versions, one step: what was in between has never run, and no row is said to be its own."""
    home = str(tmp_path / "versions")
    started(home)
    assert take_over(considered(home, WIDER), {"v": 7}) == 2
    third = considered(home, QUERY.replace("LEFT JOIN", "JOIN"))
    assert take_over(third, {"v": 7}) == 3
    assert [timeline(home, "app", "v").version_at(step, 2**60) for step in (7, 8)] == [1, 3]
    (stage,) = third.plan.joins

    join = Driven.make(tmp_path, IntervalSpec(10, 10, "left"))
    join.append("left", ("a", 100))
    join.append("right", ("a", 60), ("a", 100))
    join.step()
    assert join.pairs == {(0, 1)}
    narrow, wide = IntervalSpec(0, 0, "left"), IntervalSpec(50, 10, "left")
    for query, spec in enumerate((narrow, wide), 2):
        join.config = replace(join.config, join_kind=IntervalJoin(spec), query=query)
    join.step()
    assert stage.query == 3
    assert (join.offset.step, join.offset.query) == (2, 3)
    assert join.pairs == {(0, 1), (0, 0)}, "the row in flight was not closed by the query in between"
