"""A category whose schema evolves: rows of every generation are read in the columns of any."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.errors import CategoryMismatch, CorruptFile, UnknownVersion
from dovetail.joins.rows.gather import Rows
from dovetail.joins.rows.key_rows import rows_at
from dovetail.log import compaction, document, history
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail_dev.s3_server import CREDENTIALS, s3_server
from dying import crash_everywhere
from wide_rows import put as put_wide
from wide_rows import wide_rows

FIXED = [pa.field("_hash", pa.int64(), False), pa.field("_time", pa.int64(), False), ("_key_0", pa.string())]
KEYS = ("_hash", "_time", "_key_0")
A, B, C = pa.field("a", pa.int32()), pa.field("b", pa.string()), pa.field("c", pa.float64())

LADDERS: dict[str, tuple[Callable[[int], Any], list[pa.DataType]]] = {
    "a": (lambda n: n, [pa.int8(), pa.int16(), pa.int64()]),
    "b": (lambda n: f"text {n} " * (n % 40), [pa.string(), pa.large_string()]),
    "c": (lambda n: n / 2, [pa.float32(), pa.float64()]),
    "d": (lambda n: n, [pa.int32(), pa.float64()]),
    "e": (Decimal, [pa.decimal128(5, 0), pa.decimal128(12, 2)]),
    "f": (lambda n: date(2000 + n % 50, 1, 2), [pa.date32(), pa.date64()]),
    "g": (lambda n: datetime(2000 + n % 50, 1, 2, tzinfo=UTC), [pa.timestamp(u, "UTC") for u in ("s", "us")]),
    "h": (lambda n: [n, None], [pa.list_(pa.int16()), pa.list_(pa.int32())]),
    "i": (lambda n: {"x": n}, [pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64())])]),
    "k": (lambda n: n, [pa.int64(), pa.decimal128(19, 0), pa.decimal128(21, 2)]),
    "j": (lambda n: n % 2 == 0, [pa.bool_()]),
}
"""For each column how its values are made, and the types that it may get, one wider than the other."""


def schema_of(levels: dict[str, int]) -> pa.Schema:
    return pa.schema([*FIXED, *((name, LADDERS[name][1][level]) for name, level in levels.items())])


def row_of(levels: dict[str, int], number: int) -> dict[str, Any]:
    """Every third value is null."""
    payload = {
        name: None if (number + place) % 3 == 0 else LADDERS[name][0](number % 100)
        for place, name in enumerate(levels)
    }
    return {"_hash": number * 7, "_time": number, "_key_0": f"k{number % 5}", **payload}


def append(category: Category, rows: list[dict[str, Any]], **how: Any) -> Any:
    batch = pa.RecordBatch.from_pylist(rows, schema=category.schema)
    infos = category.write_segments(
        [batch],
        lambda part: part.column("_hash").to_numpy() % category.buckets,
        lambda part: part.column("_time").to_numpy(),
    )
    return category.append(infos, **how)


def read(category: Category) -> list[dict[str, Any]]:
    """All rows, segment by segment."""
    commits = category.commits(category.first_commit(), category.next_commit())
    return [
        row
        for commit in commits
        for info in commit.segments
        for row in category.open_segment(info).batch.to_pylist()
    ]


def gathered(category: Category, order: list[int]) -> list[dict[str, Any]]:
    """Rows by their numbers, as a join gathers them."""
    rows = Rows(category, category.first_commit(), category.next_commit())
    batch = rows.at(rows.places(np.array(order, np.int64)))
    columns = {name: batch.take(name).to_pylist() for name in category.schema.names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def seen(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    return [{name: row.get(name) for name in names} for row in rows]


def by_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["_time"])


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """What happens to a category: it evolves, gets rows from a writer of some generation, is compacted, or
    all processes forget what they know."""
    levels: dict[str, int] = {}
    steps: list[Any] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["evolve", "append", "append", "append", "compact", "forget"]))
        if kind == "evolve" or not steps:
            names = draw(st.permutations(sorted(LADDERS)))[: draw(st.integers(0, 6))]
            for name in names:
                top = len(LADDERS[name][1]) - 1
                levels[name] = draw(st.integers(levels.get(name, 0), top))
            steps.append(("evolve", {name: levels[name] for name in names}))
        elif kind == "append":
            steps.append(("append", (draw(st.integers(0, 9)), draw(st.integers(1, 30)))))
        else:
            steps.append((kind, None))
    return steps


def check_history(home: str, steps: list[Any], compression: Any) -> None:
    model: list[dict[str, Any]] = []
    made: list[dict[str, int]] = []
    category = None
    for kind, what in steps:
        if kind == "evolve" and category is None:
            category = Category.create(home, "c", schema_of(what), buckets=3, compression=compression)
            made.append(what)
        elif kind == "evolve":
            assert category is not None
            category = category.evolve(schema_of(what))
            if category.generation == len(made):
                made.append(what)
            assert category.generation == len(made) - 1
            assert made[-1] == what
        elif kind == "append":
            assert category is not None
            generation = what[0] % len(made)
            rows = [row_of(made[generation], len(model) + at) for at in range(what[1])]
            commit = append(Category.open(home, "c", generation), rows)
            assert {info.generation for info in commit.segments} == {generation}
            model += rows
        elif kind == "compact" and category is not None:
            category.compact()
        elif kind == "forget":
            history.forget()
    assert category is not None
    whole = category.with_dropped().schema
    for generation in range(len(made)):
        older = category.at(generation)
        if all(older.schema.field(name).type == whole.field(name).type for name in older.schema.names):
            assert by_time(read(older)) == seen(model, older.schema.names)
    newest = Category.open(home, "c")
    assert newest == category
    names = newest.schema.names
    stored = read(newest)
    assert by_time(stored) == seen(model, names)
    order = np.random.default_rng(1).permutation(len(model)).tolist()
    assert gathered(newest, order) == [stored[at] for at in order]
    assert by_time(gathered(newest.with_dropped(), order)) == seen(model, whole.names)
    assert set(whole.names) == {name for one in made for name in schema_of(one).names}
    answered = [
        {"_hash": row.hash, "_time": row.time_us, **row.values} for row in rows_at(newest, sorted(order))
    ]
    assert answered == stored


@pytest.fixture(autouse=True)
def _compacts_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=2, fan=2, recent=1))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=histories(), compression=st.sampled_from(["none", "zstd"]))
def test_rows_of_all_generations_are_read_in_the_columns_of_any(
    steps: list[Any], compression: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_history(str(tmp_path_factory.mktemp("home")), steps, compression)


STORY: list[Any] = [
    ("evolve", {"a": 0, "b": 0}),
    ("append", (0, 5)),
    ("evolve", {"b": 0, "c": 1, "a": 1}),
    ("append", (1, 5)),
    ("append", (0, 5)),
    ("forget", None),
    ("evolve", {"c": 1, "h": 0}),
    ("append", (2, 5)),
    ("compact", None),
]


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_on_s3_too(bucket: Callable[[], str], compression: str) -> None:
    check_history(bucket(), STORY, compression)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    with pytest.MonkeyPatch.context() as patch, s3_server(tmp_path_factory.mktemp("s3")) as server:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        numbers = iter(range(1000))
        yield lambda: server.home(f"generations-{next(numbers)}")


def make(home: str | Path, *fields: pa.Field, **how: Any) -> Category:
    return Category.create(str(home), "c", pa.schema([*FIXED, *fields]), buckets=3, **how)


def grown(category: Category, *fields: pa.Field) -> Category:
    return category.evolve(pa.schema([*FIXED, *fields]))


def put(category: Category, first: int, count: int = 4, **how: Any) -> Any:
    """Rows whose columns all say the same number."""
    values = {"a": int, "b": str, "c": float}
    rows = [
        {"_hash": n, "_time": n, "_key_0": "k"}
        | {name: values[name](n) for name in category.schema.names if name in values}
        for n in range(first, first + count)
    ]
    return append(category, rows, **how)


def generation_files(category: Category) -> list[str]:
    return sorted(path.name for path in Path(category.where, "generations").glob("*.json"))


def test_a_column_in_the_middle(tmp_path: Path) -> None:
    old = make(tmp_path, A, C)
    put(old, 0)
    new = grown(old, A, B, C)
    put(new, 4)
    found = by_time(read(new))
    assert [row["b"] for row in found] == [None] * 4 + ["4", "5", "6", "7"]
    assert [row["c"] for row in found] == [float(n) for n in range(8)]
    assert Category.open(old.home, "c") == new


def test_the_same_columns_make_no_generation(tmp_path: Path) -> None:
    category = make(tmp_path, A, B)
    before = Path(category.where, "category.json").read_bytes()
    assert grown(category, A, B) == category
    assert generation_files(category) == []
    two = grown(category, B, A)
    assert grown(category, B, A) == grown(two, B, A) == two
    assert generation_files(category) == ["1.json"]
    assert Path(category.where, "category.json").read_bytes() == before


def test_a_commit_of_the_first_generation_is_as_it_always_was(tmp_path: Path) -> None:
    category = make(tmp_path, A)
    put(category, 0)
    put(grown(category, A, B), 4)
    first, second = (
        document_of(Path(category.where, "commits", f"{number:020d}.json")) for number in range(2)
    )
    assert (first["version"], second["version"]) == (4, 5)
    assert "generation" not in first["body"]["segments"][0]
    assert second["body"]["segments"][0]["generation"] == 1


def document_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def test_a_column_that_comes_back_has_its_values(tmp_path: Path) -> None:
    category = make(tmp_path, A, B)
    put(category, 0, 2)
    without = grown(category, B)
    put(without, 2, 2)
    again = grown(without, B, A.with_type(pa.int64()))
    put(again, 4, 2)
    assert [row["a"] for row in by_time(read(again))] == [0, 1, None, None, 4, 5]


def test_what_not_all_rows_have_may_be_null(tmp_path: Path) -> None:
    never_null = [field.with_nullable(False) for field in (A, B, C)]
    category = grown(make(tmp_path, never_null[0], B), *never_null)
    assert [category.schema.field(name).nullable for name in "abc"] == [False, True, True]
    assert grown(category, *never_null) == category
    assert Category.create(category.home, "c", pa.schema([*FIXED, *never_null]), buckets=3) == category


def test_a_generation_without_rows_binds_nobody(tmp_path: Path) -> None:
    """A query was built and refused: the one that ran before goes on, and all others read what it says."""
    wide, text = A.with_type(pa.int64()), A.with_type(pa.string())
    old = make(tmp_path, A)
    put(old, 0)
    assert grown(old, wide).generation == 1
    back = Category.create(old.home, "c", old.schema, buckets=3, evolve=True).evolve(old.schema)
    put(back, 4)
    assert (back.generation, back.schema.field("a").type) == (2, pa.int32())
    body = document_of(Path(old.where, "generations", "2.json"))
    assert (body["version"], body["body"]["left_out"]) == (3, [1])
    history.forget()
    again = Category.open(old.home, "c")
    assert again == back
    assert [row["a"] for row in by_time(read(again))] == list(range(8))
    later = grown(again, B, A)
    put(later, 8)
    assert document_of(Path(old.where, "generations", "3.json"))["version"] == 1, "it follows those with rows"
    history.forget()
    assert [row["a"] for row in by_time(read(Category.open(old.home, "c")))] == list(range(12))
    with pytest.raises(CategoryMismatch, match="column a cannot become string"):
        grown(later, B, text)
    assert [row["a"] for row in by_time(read(grown(later, B).with_dropped()))] == list(range(12))


def test_a_category_without_rows_takes_any_columns(tmp_path: Path) -> None:
    first = make(tmp_path, A.with_type(pa.string()))
    with pytest.raises(CategoryMismatch, match="_hash cannot change"):
        first.evolve(pa.schema([("_hash", pa.string()), *FIXED[1:], A]))
    category = grown(first, A)
    put(category, 0)
    history.forget()
    assert [row["a"] for row in by_time(read(Category.open(category.home, "c")))] == [0, 1, 2, 3]


def test_rows_of_a_generation_that_was_left_out_are_read_if_they_fit(tmp_path: Path) -> None:
    """Its writer was away for a while, and not dead."""
    old = make(tmp_path, A)
    put(old, 0)
    away = grown(old, A.with_type(pa.int64()))
    narrow = grown(old, A)
    put(away, 4)
    assert [row["a"] for row in by_time(read(narrow))] == list(range(8))
    rows = [{"_hash": 9, "_time": 9, "_key_0": "k", "a": 1 << 40}]
    append(away, rows)
    with pytest.raises(CategoryMismatch, match="column a of the category is int64 now"):
        read(narrow)


@pytest.mark.parametrize("left_out", [[0, 2], [-1], "1", [True]])
def test_a_generation_that_leaves_out_what_is_not_there(tmp_path: Path, left_out: Any) -> None:
    old = make(tmp_path, A)
    put(old, 0)
    grown(old, A.with_type(pa.int64()))
    grown(old, A)
    path = Path(old.where, "generations", "2.json")
    body = document_of(path)["body"]
    path.write_bytes(document.encode("dovetail.generation", 3, body | {"left_out": left_out}))
    history.forget()
    with pytest.raises(CorruptFile, match="not a generation"):
        Category.open(old.home, "c")


def test_two_writers_that_evolve_at_once(tmp_path: Path) -> None:
    category = make(tmp_path, A)
    assert grown(category, A, B) == grown(category, A, B)
    other = grown(category, A, C)
    assert other.generation == 2, "the one that comes second follows the first"


def test_of_two_generations_with_one_number_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a writer's look and its write another one evolves the category."""
    category = make(tmp_path, A)
    create = type(category.store).create

    def slow(store: Any, path: str, data: bytes) -> bool:
        monkeypatch.undo()
        put(grown(category, A, C), 0)
        return create(store, path, data)

    monkeypatch.setattr(type(category.store), "create", slow)
    mine = grown(category, A, B)
    put(mine, 4)
    assert mine.generation == 2
    assert generation_files(category) == ["1.json", "2.json"]
    assert seen(by_time(read(mine.with_dropped())), ["a", "b", "c"]) == [
        *({"a": n, "b": None, "c": float(n)} for n in range(4)),
        *({"a": n, "b": str(n), "c": None} for n in range(4, 8)),
    ]


def test_a_writer_that_was_not_started_again_goes_on(tmp_path: Path) -> None:
    """So does one that asks for its schema, not knowing that there is another by now."""
    old = make(tmp_path, A, B, role="invalid")
    new = grown(old, A, C)
    for number in range(3):
        put(old, 8 * number, producer="old", batch=number)
        put(new, 8 * number + 4, producer="new", batch=number)
    assert Category.create(old.home, "c", old.schema, buckets=3, evolve=True) == old
    assert generation_files(old) == ["1.json"]
    assert [row["c"] for row in by_time(read(new))] == [None if n % 8 < 4 else float(n) for n in range(24)]


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_reader_that_was_not_started_again_goes_on(tmp_path: Path, compression: Any) -> None:
    """It learns of a generation when it meets its rows, and goes on as long as their values fit."""
    old = make(tmp_path, A, B, compression=compression)
    new = grown(old, A.with_type(pa.int64()), C)
    put(new, 0, 2)
    history.forget()
    assert seen(by_time(read(old)), ["a", "b"]) == [{"a": 0, "b": None}, {"a": 1, "b": None}]
    put(new, 2**40, 1)
    with pytest.raises(CategoryMismatch, match="a of the category is int64 now") as refused:
        read(old)
    assert "start the reader again" in str(refused.value)


def test_a_number_that_loses_digits_does_not_fit(tmp_path: Path) -> None:
    old = make(tmp_path, C.with_type(pa.float32()))
    new = grown(old, C)
    append(new, [{"_hash": 0, "_time": 0, "c": c} for c in (0.5, float("nan"), None)])
    assert [str(row["c"]) for row in read(old)] == ["0.5", "nan", "None"]
    append(new, [{"_hash": 0, "_time": 0, "c": 0.1}])
    with pytest.raises(CategoryMismatch, match="does not hold all of its values"):
        read(old)


def test_a_reader_that_needs_a_value_in_every_row_says_so(tmp_path: Path) -> None:
    old = make(tmp_path, A.with_nullable(False), B)
    put(grown(old, B), 0)
    with pytest.raises(CategoryMismatch, match="goes on without column a"):
        read(old)


def test_columns_that_are_wanted_by_name(tmp_path: Path) -> None:
    category = make(tmp_path, A, B)
    put(category, 0, 2)
    put(grown(category, C), 2, 1)
    wanted = pa.schema([("c", pa.float64()), ("a", pa.int64()), ("z", pa.bool_()), ("_time", pa.int64())])
    reader = Category.open(category.home, "c").reading(wanted)
    assert by_time(read(reader)) == [
        {"c": None, "a": 0, "z": None, "_time": 0},
        {"c": None, "a": 1, "z": None, "_time": 1},
        {"c": 2.0, "a": None, "z": None, "_time": 2},
    ]
    with pytest.raises(ValueError, match="in a schema of the category"):
        put(reader, 3)


@pytest.mark.parametrize(
    ("fields", "what", "instead"),
    [
        ([A.with_type(pa.int16()), B], "a cannot become int16", "CAST(a AS INT) AS a"),
        ([A.with_type(pa.string()), B], "a cannot become string", "CAST(a AS INT) AS a"),
        ([A, B.with_type(pa.int64())], "b cannot become int64", "another name"),
        ([A, B, pa.field("_key_1", pa.string())], "_key_1 cannot change", "another category"),
    ],
)
def test_refused(tmp_path: Path, fields: list[pa.Field], what: str, instead: str) -> None:
    category = make(tmp_path, A, B)
    put(category, 0)
    with pytest.raises(CategoryMismatch, match=what) as refused:
        grown(category, *fields)
    assert instead in str(refused.value)
    assert generation_files(category) == []


@pytest.mark.parametrize("name", ["_hash", "_time", "_key_0"])
def test_what_places_rows_does_not_change(tmp_path: Path, name: str) -> None:
    category = make(tmp_path, A)
    at = category.schema.get_field_index(name)
    for schema in (category.schema.remove(at), category.schema.set(at, pa.field(name, pa.int16()))):
        with pytest.raises(CategoryMismatch, match=f"{name} cannot change"):
            category.evolve(schema)


def test_a_name_keeps_its_meaning_while_it_is_away(tmp_path: Path) -> None:
    first = make(tmp_path, A, B)
    put(first, 0)
    category = grown(first, A)
    with pytest.raises(CategoryMismatch, match="b cannot become date32"):
        grown(category, A, pa.field("b", pa.date32()))


def test_the_time_column_stays(tmp_path: Path) -> None:
    timed = pa.schema([("t", pa.timestamp("us", "UTC")), ("x", pa.int64())])
    category = Category.create(str(tmp_path), "timed", timed, time_column="t")
    with pytest.raises(CategoryMismatch, match="t cannot be dropped"):
        category.evolve(timed.remove(0))
    assert category.evolve(timed.remove(1)).time_column == "t"


def test_another_compression_is_a_generation(tmp_path: Path) -> None:
    """Each segment says how it is packed, so rows of all are read. Whoever opens the category writes as its
    newest generation says, and builds that do not know of this stop before they write otherwise."""
    category = make(tmp_path, B, compression="none")
    schema, home = category.schema, str(tmp_path)
    wide = [{"_hash": n, "_time": n, "_key_0": "k", "b": "a name " * 40} for n in range(300)]
    append(category, wide)
    assert category.evolve(schema).generation == 0, "it stays as it is"
    assert Category.create(home, "c", schema, buckets=3, evolve=True).generation == 0
    with pytest.raises(CategoryMismatch, match="is another one"):
        Category.create(home, "c", schema, buckets=3, compression="zstd")
    made = Category.create(home, "c", schema, buckets=3, compression="zstd", evolve=True)
    history.forget()
    opened = Category.open(home, "c")
    assert [(one.generation, one.definition.compression) for one in (made, opened)] == [(1, "zstd")] * 2
    append(opened, wide)
    more = grown(opened, B, C)
    assert (more.generation, more.definition.compression) == (2, "zstd")
    assert more.evolve(more.schema, "none").definition.compression == "none"
    history.forget()
    last = Category.open(home, "c")
    append(last, [{**row, "c": 1.0} for row in wide])
    segments = [[info.packing is not None for info in commit.segments] for commit in last.commits(0, 3)]
    assert [set(packed) for packed in segments] == [{False}, {True}, {False}]
    assert by_time(read(last)) == by_time([{**row, "c": c} for c in (None, None, 1.0) for row in wide])
    files = [tmp_path / "log" / "c" / "generations" / name for name in generation_files(last)]
    assert [json.loads(file.read_text())["version"] for file in files] == [2, 1, 2]


def test_buckets_are_no_matter_of_schema(tmp_path: Path) -> None:
    category = make(tmp_path, A)
    with pytest.raises(CategoryMismatch, match="is another one"):
        Category.create(category.home, "c", pa.schema([*FIXED, B]), buckets=4, evolve=True)
    assert generation_files(category) == []


def test_one_that_has_no_rows_can_be_made_anew(tmp_path: Path) -> None:
    grown(make(tmp_path, A), A, B).forget()
    again = make(tmp_path, C)
    assert Category.open(again.home, "c") == again
    assert grown(again, A, C).generation == 1


def test_dying_while_it_evolves(tmp_path: Path) -> None:
    def prepare(home: str) -> Category:
        category = make(home, A)
        put(category, 0)
        return category

    def act(category: Category) -> None:
        put(grown(category, A, B), 4, producer="app", batch=0)

    def check(home: str) -> None:
        act(Category.open(home, "c"))
        category = Category.open(home, "c")
        assert generation_files(category) == ["1.json"]
        assert [row["b"] for row in by_time(read(category))] == [None] * 4 + ["4", "5", "6", "7"]

    assert crash_everywhere(tmp_path, prepare, act, check) > 8


@pytest.fixture
def evolved(tmp_path: Path) -> Category:
    category = make(tmp_path, A)
    put(category, 0)
    put(grown(category, A, B), 4)
    newest = grown(category, A, B, C)
    put(newest, 8)
    history.forget()
    return newest


@pytest.mark.parametrize("number", [1, 2])
def test_a_generation_that_is_damaged(evolved: Category, number: int) -> None:
    path = Path(evolved.where, "generations", f"{number}.json")
    path.write_bytes(path.read_bytes().replace(b"int32", b"int64"))
    with pytest.raises(CorruptFile, match=r"generations/\d.json"):
        Category.open(evolved.home, "c")


@pytest.mark.parametrize("number", [1, 2])
def test_a_generation_that_is_missing(evolved: Category, number: int) -> None:
    Path(evolved.where, "generations", f"{number}.json").unlink()
    with pytest.raises(CorruptFile, match=f"generation {number}"):
        read(Category.open(evolved.home, "c"))


def test_one_that_is_missing_is_not_made_again(evolved: Category) -> None:
    Path(evolved.where, "generations", "1.json").unlink()
    with pytest.raises(CorruptFile, match="generation 1"):
        grown(evolved, C)


def test_a_generation_of_another_category_or_release(evolved: Category, tmp_path: Path) -> None:
    one, two = (Path(evolved.where, "generations", f"{number}.json") for number in (1, 2))
    two.write_bytes(one.read_bytes())
    with pytest.raises(CorruptFile, match="another generation"):
        Category.open(evolved.home, "c")
    said = document_of(one)
    two.write_bytes(document.encode(said["format"], 99, said["body"]))
    with pytest.raises(UnknownVersion):
        Category.open(evolved.home, "c")


def test_rows_of_another_generation_than_the_commit_says(evolved: Category) -> None:
    commit = evolved.commit(1)
    wrong = replace(commit.segments[0], generation=2)
    history.forget()
    with pytest.raises(CorruptFile, match="another schema than its category in this generation"):
        evolved.open_segment(wrong)


def test_wide_rows_are_packed_by_name(tmp_path: Path) -> None:
    """A dictionary that was trained on one generation packs and unpacks another."""
    given = [wide_rows(1500, seed) for seed in (1, 2, 3)]
    first = Category.create(str(tmp_path), "wide", wide_rows(0).schema, buckets=4)
    put_wide(first, given[0])
    again = pa.RecordBatch.from_arrays(
        [given[1].column(name) for name in (*KEYS, "attributes", "agent", "url")],
        [*KEYS, "attributes", "attempt", "url"],
    )
    second = first.evolve(again.schema.set(0, FIXED[0]).set(1, FIXED[1]))
    put_wide(second, again)
    put_wide(first, given[2])
    packings = [info.packing for commit in second.commits(0, 3) for info in commit.segments]
    assert all(packing and packing.dictionary for packing in packings)
    whole = second.with_dropped()
    expected = pa.concat_tables([*map(pa.table, (given[0], again, given[2]))], promote_options="default")
    places = [*range(4500)]
    assert unordered(gathered(whole, places)) == unordered(expected.select(whole.schema.names).to_pylist())


def unordered(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in rows), key=repr)


@pytest.mark.parametrize("name", ["plain", "packed"])
def test_a_home_of_the_release_before_generations_is_continued(tmp_path: Path, name: str) -> None:
    """Its files stay as they are. What comes after them is of the next generation."""
    shutil.unpack_archive(Path(__file__).parent / "homes" / "before_generations.zip", tmp_path)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    old = Category.open(str(tmp_path), name)
    assert old.generation == 0
    before = by_time(read(old))
    assert [row["id"] for row in before] == [*range(40)]
    new = old.evolve(pa.schema([*FIXED, ("score", pa.float64()), ("text", pa.string()), ("id", pa.int64())]))
    rows = [
        {"_hash": 7 * n, "_time": n, "_key_0": "k0", "score": n / 2, "text": "later", "id": n + 2**40}
        for n in range(40, 45)
    ]
    append(new, rows, producer="app", batch=4)
    append(new, rows, producer="app", batch=4)
    history.forget()
    found = by_time(gathered(Category.open(str(tmp_path), name), [*range(45)]))
    assert found == [*seen(before, new.schema.names), *rows]
    assert {path: path.read_bytes() for path in kept} == kept
