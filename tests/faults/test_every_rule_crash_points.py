"""A process that dies inside a change, for every rule: each row is put out once, by the old query before the
cut and by the new one after it, as if nobody had died. The change is all of it: the version and the document
that names it, then the steps that change the state, then those behind them.

The cut is between the same steps each time, so what must come out is what comes out of a change in which
nobody dies. Whether that is right is the matter of `spark/test_every_change.py`, which has an oracle."""

from __future__ import annotations

import copy
import random
import shutil
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from differential.local_duckdb import aggregated
from dovetail.changes import rules as change_rules
from dovetail.changes.takeover import Takeover, consider, take_over
from dovetail.engine.copying import at_once, settle
from dovetail.engine.live_index import unmap_all
from dovetail.engine.planner import HostClock
from dovetail.local.graph import Graph, StageJournal
from dovetail.log import history
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import read_current
from dovetail.plan.physical import Plan
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.write_rows import bucket_of, time_of
from dying import Crash, dying_at
from faults import test_swap_crash_points as swaps
from laws.effort import THOROUGH

INPUTS = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("a");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("b");
"""
PAIRS = """
    CREATE VIEW ab AS SELECT a.t AS t, a.id AS a, b.id AS b FROM a LEFT JOIN b
        ON b.k = a.k AND b.t BETWEEN a.t - INTERVAL '2 minutes' AND a.t + INTERVAL '4 minutes'
        WITH (max_delay = INTERVAL '2 minutes', confirmed_by = 1, history = INTERVAL '1 day');
    CREATE TABLE pairs AS SELECT a, b FROM ab STORAGE NOOP;
"""
COUNTS = """
    CREATE TABLE counts AS SELECT window(t, '5 minutes').start AS start, COUNT(*) AS n FROM a
        GROUP BY window(t, '5 minutes') STORAGE NOOP;
"""
NEAR = """
    CREATE FUNCTION same(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$ return x $$;
    CREATE VIEW near AS SELECT a.id AS a, b.id AS b FROM a LEFT JOIN b
        ON a.k - b.k BETWEEN -1 AND 1 AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '2 minutes'
        WITH (max_delay = INTERVAL '2 minutes', confirmed_by = 1, history = INTERVAL '1 day');
    CREATE TABLE near_rows AS SELECT same(a) AS a, b FROM near STORAGE NOOP;
"""
NAMED = """
    CREATE LOOKUP TABLE names (k BIGINT, name STRING) FROM PARQUET("{here}/names.parquet");
    CREATE VIEW named AS SELECT a.id AS id, n.name AS name FROM a LEFT JOIN TABLE names AS n ON a.k = n.k;
    CREATE TABLE named_rows AS SELECT id, name FROM named STORAGE NOOP;
"""
LOOKUP = NAMED[NAMED.index("names.parquet") : NAMED.index("JOIN TABLE")]
OTHER_LOOKUP = f"other_{LOOKUP}".replace("n.name AS name FROM a LEFT", "n.name AS name, n.k AS code FROM a")
"""Another table to look up in, one more column, and an inner lookup."""
CASES = {
    "aggregates": (COUNTS, "COUNT(*)", "MAX(id)"),
    "bounds": (PAIRS, "a.t - INTERVAL '2 minutes'", "a.t - INTERVAL '9 minutes'"),
    "condition": (NEAR, "BETWEEN -1 AND 1", "BETWEEN 0 AND 2"),
    "functions": (NEAR, "return x", "return x + 1000"),
    "join_type": (PAIRS, "LEFT JOIN", "FULL JOIN"),
    "lookups": (NAMED, LOOKUP, OTHER_LOOKUP),
    "output_columns": (PAIRS, "SELECT a, b FROM ab", "SELECT a, b, a + b AS more FROM ab"),
    "side_columns": (PAIRS, "a.t AS t, a.id AS a", "a.t AS t, a.k AS k, a.id AS a"),
    "storage": (PAIRS, "FROM ab STORAGE NOOP", "FROM ab STORAGE CONSOLE"),
    "stream_time": (PAIRS, "max_delay = INTERVAL '2 minutes'", "max_delay = INTERVAL '90 seconds'"),
    "tables": (PAIRS, "STORAGE NOOP;", "STORAGE NOOP; CREATE TABLE more AS SELECT b FROM ab STORAGE NOOP;"),
    "tuning": (PAIRS, "confirmed_by = 1", "confirmed_by = 1, max_step_rows = 7"),
}
ELSEWHERE = {
    "sources": swaps.test_a_crash_anywhere_in_the_change,
    "identity": swaps.test_a_crash_anywhere_before_a_join_begins_afresh,
    "application": None,  # it refuses
}
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])
START, CLOCK = datetime(2026, 1, 1, tzinfo=UTC), HostClock(lambda: 0, lambda: 0)
Journals = dict[str, StageJournal]


def test_every_rule_has_a_case() -> None:
    rules = {path.stem for path in Path(next(iter(change_rules.__path__))).glob("*.py")} - {"__init__"}
    assert rules == CASES.keys() | ELSEWHERE.keys()


class Run:
    """An application in one process. Its journals outlive it, as Spark's checkpoints do."""

    def __init__(self, home: Path, journals: Journals) -> None:
        self.home, self.journals = str(home), journals

    def steps(self, plan: Plan, *, final: bool = False) -> None:
        graph = Graph(plan, self.home, self.home, journals=self.journals, clock=CLOCK, aggregation=aggregated)
        while [runner for runner in graph.runners.values() if runner.step(final=final)]:
            pass

    def change(self, text: str) -> None:
        if read_current(self.home, "app").version == 1:
            take_over(considered(self.home, text), {})
        self.steps(read_current(self.home, "app").plan)

    def rows(self) -> Counter[Any]:
        return Counter(
            (name, *row.items())
            for name, journal in self.journals.items()
            for table in journal.rows.values()
            for row in table.to_pylist()
        )


def considered(home: str, text: str) -> Takeover:
    program = parse(text)
    return consider(home, plans_of(trace_program(program)), program)


def feed(home: Path, minutes: range) -> None:
    rng = random.Random(minutes.start)
    for name in "ab":
        category = Category.create(str(home), name, SCHEMA, buckets=1)
        for minute in minutes:
            rows = [
                {
                    "t": START + timedelta(minutes=minute, seconds=rng.randrange(-60, 60)),
                    "k": rng.randrange(4),
                    "id": 3 * minute + n,
                }
                for n in range(3)
            ]
            batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
            category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))


class Begun:
    """Applications of an old query that have run for a while, with more to come: by what they consist of."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._made = folder, dict[str, tuple[Path, Journals, str]]()
        for number, name in enumerate(("names", "other_names")):
            names = [f"{name} {k}" for k in range(number, 3)]
            pq.write_table(pa.table({"k": range(number, 3), "name": names}), folder / f"{name}.parquet")

    def of(self, part: str) -> tuple[Path, Journals, str]:
        if part not in self._made:
            text = INPUTS + part.replace("{here}", str(self._folder))
            home, journals = self._folder / f"home{len(self._made)}", Journals()
            feed(home, range(6))
            take_over(considered(str(home), text))
            open_store(str(home)).make_folder("apps/app/checkpoints/ab")  # as a run would
            Run(home, journals).steps(read_current(str(home), "app").plan)
            feed(home, range(6, 10))
            settle()
            self._made[part] = home, journals, text
        return self._made[part]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    return Begun(tmp_path_factory.mktemp("begun"))


@pytest.mark.parametrize("rule", CASES)
def test_a_crash_inside_the_change(begun: Begun, tmp_path: Path, rule: str) -> None:
    part, old, new = CASES[rule]
    home, journals, text = begun.of(part)
    assert old in text
    changed = text.replace(old, new, 1)

    def copied(name: str) -> Run:
        unmap_all()
        history.forget()
        shutil.copytree(home, tmp_path / name, symlinks=True)
        return Run(tmp_path / name, copy.deepcopy(journals))

    def finished(run: Run) -> Counter[Any]:
        run.steps(read_current(run.home, "app").plan, final=True)
        settle()
        return run.rows()

    whole = copied("whole")
    assert rule in {change.rule for change in considered(whole.home, changed).changes}
    with at_once(), dying_at(2**60, done=False) as operations:
        take_over(considered(whole.home, changed), {})
        taken_over = len(operations)
        whole.change(changed)
    expected = finished(whole)
    for number in places(rule, taken_over, len(operations)):
        run, done = copied(f"{number}"), bool(number % 2)
        with at_once(), dying_at(number // 2, done=done), suppress(Crash):
            run.change(changed)
        unmap_all()
        history.forget()
        again = Run(Path(run.home), run.journals)
        again.change(changed)
        assert finished(again) == expected, number


def places(rule: str, taken_over: int, operations: int) -> list[int]:
    """Where to die, before or after an operation: in the documents, and in the steps. Each rule dies at other
    places, and in the thorough profile everywhere."""
    if THOROUGH:
        return list(range(2 * operations))
    rng = random.Random(rule)
    return [
        rng.randrange(2 * taken_over),
        rng.randrange(2 * taken_over, 2 * operations),
    ]
