"""A category looked up in a table, commit by commit: the table read again, away, too large, and restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.connectors.lookup_table import LookupTable
from dovetail.errors import InputError, Unreachable
from dovetail.log.category import Category
from dovetail.lookup.held_table import Broadcast, HeldTable
from dovetail.lookup.lookup_intake import PATIENCE_S, Enriching, LookupIntake
from dovetail.model.lookup import LookedUp, LookupKey, LookupSpec
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.placement import Placement
from dovetail.slicing.sides import append_parts, write_rows

ROWS = pa.schema([("k", pa.int64()), ("id", pa.int64())])
FOUND = pa.schema([("id", pa.int64()), ("name", pa.string())])
SPEC = LookupSpec("left", (LookupKey("k", "k", "BIGINT"),), (LookedUp("name", "name"),))
TYPES = {"k": "BIGINT", "name": "STRING"}


class Table:
    """A table that the test changes. `version` None: it does not say."""

    place = "the table"

    def __init__(self, names: dict[int, str], *, versioned: bool = True) -> None:
        self.names, self.versioned, self.number, self.away = names, versioned, 0, False
        self.read = 0

    def put(self, names: dict[int, str]) -> None:
        self.names, self.number = names, self.number + 1

    def version(self) -> str | None:
        if self.away:
            raise Unreachable("it is being moved")
        return str(self.number) if self.versioned else None

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]:
        self.read += 1
        made = pa.record_batch({"k": [*self.names], "name": [*self.names.values()]})
        yield made.select(list(columns))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Stream:
    """A category that rows are appended to, and one for what is looked up."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.rows = Category.create(self.home, "rows", ROWS)
        self.found = Category.create(self.home, "app.found", FOUND)
        self.batches = 0
        self.clock = Clock()

    def append(self, *keys: int) -> None:
        first = self.rows.commit(self.batches - 1).next_row if self.batches else 0
        batch = pa.record_batch({"k": list(keys), "id": [first + i for i in range(len(keys))]}, ROWS)
        written = write_rows(self.rows, [batch], Placement(None, None))
        append_parts(self.rows, [written], "test", self.batches, None)
        self.batches += 1

    def open(
        self, table: LookupTable, *, refresh_s: float = 10, most: int = 1 << 20, **how: Any
    ) -> LookupIntake:
        held = HeldTable(table, Broadcast("users", SPEC, TYPES, int(refresh_s * 1e6), most), self.clock)
        slicer = Slicer("app", "found", "rows")
        return LookupIntake(
            self.found, slicer, Enriching(self.found, {"id": "id"}), held, "users", clock=self.clock, **how
        )

    def names(self) -> list[str | None]:
        commits = self.found.commits(self.found.first_commit(), self.found.next_commit())
        segments = [segment for commit in commits for segment in commit.segments]
        return [name for one in segments for name in self.found.open_segment(one).batch["name"].to_pylist()]

    def versions(self) -> list[Any]:
        commits = self.found.commits(self.found.first_commit(), self.found.next_commit())
        return [(commit.covers or {})["looked_up"]["version"] for commit in commits]


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path)


def take_in(stream: Stream, intake: LookupIntake, before: Callable[[], None] = lambda: None) -> None:
    with ThreadPoolExecutor(1) as threads:
        intake.look()
        while intake.more():
            part = intake.take()
            written = part.write(threads)
            before()
            append_parts(stream.found, written, "app.found", intake.next_batch, None, part.covers)
            intake.appended(part)


def test_a_table_is_read_again_when_it_is_old_and_has_changed(stream: Stream) -> None:
    table = Table({1: "one"})
    intake = stream.open(table)
    stream.append(1, 2)
    take_in(stream, intake)
    table.put({1: "uno", 2: "due"})
    stream.append(1)
    take_in(stream, intake)
    assert stream.names() == ["one", None, "one"], "younger than ten seconds"
    stream.clock.now += 10
    stream.append(2, 1)
    take_in(stream, intake)
    stream.clock.now += 10
    stream.append(1)
    take_in(stream, intake)
    assert stream.names()[3:] == ["due", "uno", "uno"]
    assert stream.versions() == ["0", "0", "1", "1"]
    assert table.read == 2, "a table that has not changed is not read again"


def test_a_table_without_versions_has_a_digest(stream: Stream) -> None:
    table = Table({1: "one"}, versioned=False)
    intake = stream.open(table)
    for names in ({1: "one"}, {1: "one"}, {1: "two"}):
        table.put(names)
        stream.append(1)
        take_in(stream, intake)
        stream.clock.now += 10
    first, second, third = stream.versions()
    assert first == second != third


def test_what_was_committed_stays_and_the_rest_is_looked_up_again(stream: Stream) -> None:
    """A run that dies between writing and committing leaves nothing that counts."""
    table = Table({1: "one"})
    stream.append(1)
    take_in(stream, stream.open(table))
    stream.append(1)

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_in(stream, stream.open(table), die)
    table.put({1: "uno"})
    take_in(stream, stream.open(table))
    assert stream.names() == ["one", "uno"]
    take_in(stream, stream.open(table))
    assert stream.names() == ["one", "uno"], "each row is looked up once"


def test_a_table_that_is_away_is_waited_for(stream: Stream) -> None:
    table = Table({1: "one"})
    intake = stream.open(table, finite=True)
    stream.append(1)
    take_in(stream, intake)
    stream.clock.now += 10
    table.away = True
    stream.append(1)
    take_in(stream, intake)
    assert not intake.more()
    assert not intake.exhausted
    assert intake.settled_us is None, "its stream is not idle: a row waits for its answer"
    assert intake.waiting().trouble == "waiting for the table: it is being moved"
    stream.clock.now += PATIENCE_S / 2
    take_in(stream, intake)
    table.away = False
    stream.clock.now += 1
    take_in(stream, intake)
    assert intake.exhausted
    assert intake.settled_us is not None
    assert intake.waiting().trouble is None
    table.away = True
    stream.append(1)
    stream.clock.now += 10
    intake.look()
    stream.clock.now += PATIENCE_S + 1
    with pytest.raises(InputError, match="it is being moved") as refused:
        intake.look()
    assert "nothing is lost" in str(refused.value.hint)


def test_a_table_that_is_too_large_is_refused(stream: Stream) -> None:
    intake = stream.open(Table(dict.fromkeys(range(100), "x" * 100)), most=10_000)
    stream.append(1)
    with pytest.raises(InputError, match=r"lookup table users takes more than the 0\.0 MiB") as refused:
        intake.look()
    assert "raise max_bytes" in str(refused.value.hint)
    assert "k, name" in str(refused.value.expected)


def test_a_column_of_another_type_is_refused(stream: Stream) -> None:
    table = Table({})
    table.batches = lambda columns, version: iter([pa.record_batch({"k": ["a"], "name": ["b"]})])  # type: ignore[method-assign]
    stream.append(1)
    with pytest.raises(
        InputError, match="column k of the table has type string, and the query declares BIGINT"
    ):
        stream.open(table).look()
