"""Law: what was looked up before a change stays as it was found, and what is looked up after it is as the
new query says, whoever reads it when. Here rows were looked up, and nobody had read them when the query
changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.changes.takeover import consider, take_over
from dovetail.local.graph import Graph, StageJournal
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import read_current
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.write_rows import bucket_of, time_of

QUERY = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM SCRIBE("a");
    CREATE LOOKUP TABLE names (k BIGINT, name STRING, code BIGINT) FROM PARQUET("{here}/names.parquet");
    CREATE VIEW named AS SELECT a.id AS id, n.name AS name FROM a LEFT JOIN TABLE names AS n ON a.k = n.k;
    CREATE TABLE out AS SELECT * FROM named STORAGE NOOP;
"""
INNER = ("LEFT JOIN", "JOIN")
MORE = ("n.name AS name", "n.name AS name, n.code AS code")
OTHER = ("n.name AS name", "n.code AS code")
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])
ONE = {"id": 1, "name": "one"}


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journals: dict[str, StageJournal] = {}
        names = {"k": [1], "name": ["one"], "code": pa.array([11], pa.int64())}
        pq.write_table(pa.table(names), folder / "names.parquet")
        open_store(str(folder)).make_folder("apps/app/checkpoints/named")  # as a run would

    def become(self, *edits: tuple[str, str]) -> list[str]:
        """What is said of it."""
        text = QUERY.replace("{here}", str(self.folder))
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        program = parse(text)
        changed = consider(str(self.folder), plans_of(trace_program(program)), program)
        take_over(changed, {})
        return [words for change in changed.changes for words in (change.what, change.flight) if words]

    def look_up(self, *rows: tuple[int, int]) -> None:
        """Rows as key and number come, and are looked up; nobody reads what was found."""
        category = Category.create(str(self.folder), "a", SCHEMA, buckets=1)
        batch = pa.RecordBatch.from_pylist([{"t": 0, "k": k, "id": number} for k, number in rows], SCHEMA)
        category.append(category.write_segments([batch], bucket_of(None, 1), time_of("t")))
        graph = self._graph()
        assert graph.runners["named"].step(final=False)

    def read(self) -> list[dict[str, Any]]:
        graph = self._graph()
        while graph.runners["out"].step(final=False):
            pass
        return [row for table in self.journals["out"].rows.values() for row in table.to_pylist()]

    def _graph(self) -> Graph:
        plan = read_current(str(self.folder), "app").plan
        return Graph(plan, str(self.folder), str(self.folder), journals=self.journals)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_one_more_column_is_null_in_rows_that_were_looked_up_without_it(home: Home) -> None:
    home.become()
    home.look_up((1, 1), (2, 2))
    home.become(MORE)
    home.look_up((1, 3), (2, 4))
    assert home.read() == [
        {**ONE, "code": None},
        {"id": 2, "name": None, "code": None},
        {"id": 3, "name": "one", "code": 11},
        {"id": 4, "name": None, "code": None},
    ]


def test_a_column_that_goes_and_comes_back_keeps_the_answers_it_had(home: Home) -> None:
    home.become()
    home.look_up((1, 1))
    home.become(OTHER)
    home.look_up((1, 2))
    home.become(MORE)
    home.look_up((1, 3))
    assert home.read() == [
        {**ONE, "code": None},
        {"id": 2, "name": None, "code": 11},
        {"id": 3, "name": "one", "code": 11},
    ]


def test_a_lookup_that_becomes_left_does_not_bring_back_what_it_dropped(home: Home) -> None:
    home.become(INNER)
    home.look_up((1, 1), (2, 2))
    assert home.become() == [
        "inner lookup, now left lookup",
        "those that were looked up before the change and had no partner were dropped; from the change on "
        "such rows come out with nulls",
    ]
    home.look_up((1, 3), (2, 4))
    assert home.read() == [ONE, {"id": 3, "name": "one"}, {"id": 4, "name": None}]


def test_a_lookup_that_becomes_inner_keeps_what_it_let_out(home: Home) -> None:
    home.become()
    home.look_up((1, 1), (2, 2))
    home.become(INNER)
    home.look_up((1, 3), (2, 4))
    assert home.read() == [ONE, {"id": 2, "name": None}, {"id": 3, "name": "one"}]
