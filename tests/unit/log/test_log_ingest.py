"""Files into categories: which types they get, which rows are kept aside, and that a file enters whole."""

from __future__ import annotations

import datetime
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.errors import CategoryMismatch, CategoryNotFound, DovetailError, InputError
from dovetail.log.category import Category, list_categories
from dovetail.log.ingest import delimited, json_lines
from dovetail.log.ingest.append import Appended, append_file, usual_time_column
from dovetail.log.ingest.files import detect, find_files
from dovetail.log.ingest.source import InputFile
from dovetail.log.ingest.text import salvage

TIMESTAMP = pa.timestamp("us", "UTC")


def utc(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts, tzinfo=datetime.UTC)  # type: ignore[arg-type, misc]


class Home:
    """A home and a folder for files beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "home")

    def file(self, name: str, content: str | bytes | pa.Table) -> InputFile:
        path = self.folder / name
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return InputFile(str(path), path.stat().st_size)

    def append(self, name: str, content: str | bytes | pa.Table, **options: Any) -> Appended:
        return append_file(self.path, "events", self.file(name, content), **options)

    def category(self) -> Category:
        return Category.open(self.path, "events")

    def rows(self) -> list[dict[str, Any]]:
        category = self.category()
        return [
            row
            for commit in category.commits(0, category.next_commit())
            for segment in commit.segments
            for row in category.open_segment(segment).batch.to_pylist()
        ]

    def kept_aside(self) -> list[tuple[str, str]]:
        category = self.category()
        return [
            (row["reason"], row["raw"])
            for commit in category.commits(0, category.next_commit())
            for info in commit.rejected
            for row in category.read_rejected(info)
        ]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def lines(*rows: Any) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


# JSON lines


def test_json_types_come_from_all_lines(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 50)  # a few lines a block
    rows = [
        {"id": 1, "value": 1, "day": "2024-01-31", "at": "2024-01-31", "text": "2024-01-31", "late": None},
        {"id": 2, "value": 2.5, "day": "2024-02-01", "at": "2024-01-31T12:00:00Z", "text": "x", "late": 7},
        {"id": 3, "tags": ["a"], "deep": {"when": "2024-01-31 00:00:00", "n": [1]}},
        {"id": 4, "deep": {"n": [1.5], "more": True}, "at": "2024-01-31 13:00:00.123456000+01:00"},
    ]
    result = home.append("events.json", lines(*rows))
    assert (result.rows, result.rejected) == (4, 0)
    schema = home.category().schema
    assert {field.name: field.type for field in schema} == {
        "id": pa.int64(),
        "value": pa.float64(),
        "day": pa.date32(),
        "at": TIMESTAMP,
        "text": pa.string(),
        "late": pa.int64(),
        "tags": pa.list_(pa.string()),
        "deep": pa.struct([("when", pa.string()), ("n", pa.list_(pa.float64())), ("more", pa.bool_())]),
    }
    first, second, third, fourth = home.rows()
    assert first["at"] == utc(2024, 1, 31)
    assert second["at"] == utc(2024, 1, 31, 12)
    assert fourth["at"] == utc(2024, 1, 31, 12, 0, 0, 123456)
    assert first["day"] == datetime.date(2024, 1, 31)
    assert third["deep"] == {"when": "2024-01-31 00:00:00", "n": [1.0], "more": None}
    assert (first["late"], second["late"], first["tags"]) == (None, 7, None)


def test_json_lines_that_do_not_parse_are_kept_aside(home: Home) -> None:
    bad = ['{"id": 1', "[1]", "null", "3", '{"id": "x"}', '{"id": 1.5, "id": 2}', '{"id": 1} trailing']
    good = [{"id": i, "name": f"n{i}"} for i in range(100)]
    mixed = [*good[:50], *bad, "", *good[50:]]
    result = home.append("events.jsonl", lines(*mixed))
    assert (result.rows, result.rejected) == (100, len(bad))
    assert [row["id"] for row in home.rows()] == [*range(100)]
    assert sorted(raw for _, raw in home.kept_aside()) == sorted(bad)
    reasons = {raw: reason for reason, raw in home.kept_aside()}
    assert reasons['{"id": "x"}'] == "column id: expected number, found string"
    assert reasons["[1]"] == "expected an object, found array"
    assert reasons["null"] == "expected an object, found null"
    assert reasons['{"id": 1} trailing'].startswith("not JSON: Extra data")
    assert result.sample is not None
    assert '{"id": 1' in result.sample


def test_json_values_that_do_not_fit_the_category_are_kept_aside(home: Home) -> None:
    home.append("a.json", lines({"id": 1, "at": "2024-01-31T12:00:00Z", "day": "2024-01-31"}))
    bad = [{"id": 1.5}, {"id": 2, "at": "noon"}, {"id": 3, "at": 5}, {"id": 4, "day": "2024-02-30"}]
    result = home.append("b.json", lines(bad[0], {"id": 9}, *bad[1:]))
    assert (result.rows, result.rejected) == (1, 4)
    reasons = {raw: reason for reason, raw in home.kept_aside()}
    assert reasons == {
        json.dumps(bad[0]): f"column id: expected a whole number in {-(2**63)}..{2**63 - 1}, found 1.5",
        json.dumps(bad[1]): "column at: expected timestamp[us, tz=UTC], found 'noon'",
        json.dumps(bad[2]): "column at: expected string, found number",
        json.dumps(bad[3]): "column day: expected date32[day], found '2024-02-30'",
    }
    assert home.rows()[1] == {"id": 9, "at": None, "day": None}


def test_json_bytes_that_are_no_text_are_kept_aside(home: Home) -> None:
    result = home.append("a.json", b'\xef\xbb\xbf{"id": 1}\n{"id": "\xff"}\n{"id": 2}')
    assert (result.rows, result.rejected) == (2, 1)
    assert home.kept_aside() == [("the line is not UTF-8: invalid start byte", '{"id": "\\xff"}')]


@pytest.mark.parametrize("where", ["first", "later"])
def test_json_lines_that_fail_for_many_reasons_at_once(home: Home, where: str, monkeypatch: Any) -> None:
    """Also those that only the parser itself turns away: nested kinds, a field given twice."""
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 1000)
    good = [{"id": i, "deep": {"n": i}, "at": f"2024-01-31 12:00:{i % 60:02}"} for i in range(300)]
    bad = ['{"id": 1, "id": 2}', '{"deep": {"n": "x"}}', '{"deep": 3}', "{}{}", '{"at": "noon"}', '{"id": 1']
    mixed: list[Any] = [*good]
    for position, text in enumerate(bad):
        mixed.insert(17 + 40 * position, text)
    if where == "later":
        home.append("first.json", lines(*good))
    result = home.append("second.json", lines(*mixed))
    assert (result.rows, result.rejected) == ((300, 6) if where == "later" else (301, 5))
    texts = [raw for _, raw in home.kept_aside()]
    assert sorted(texts) == sorted(bad if where == "later" else [text for text in bad if "noon" not in text])
    assert [row["id"] for row in home.rows() if row["id"] is not None][-300:] == [*range(300)]


def test_json_fields_the_category_has_not_are_another_schema(home: Home) -> None:
    home.append("a.json", lines({"id": 1, "deep": {"x": 1}}))
    for extra in ({"id": 2, "more": 1}, {"id": 2, "deep": {"x": 1, "y": 2}}):
        with pytest.raises(InputError, match="another schema") as caught:
            home.append("b.json", lines({"id": 3}, extra))
        assert "b.json" in (caught.value.where or "")
        assert caught.value.hint
    assert [row["id"] for row in home.rows()] == [1]


@pytest.mark.parametrize("content", ["\n \n", "[]", "not json\nat all\n", '[{"id": 1},\n{"id": 2}]\n', "{"])
def test_a_file_without_a_json_line_is_an_error(home: Home, content: str) -> None:
    with pytest.raises(InputError, match=r"no line that is a JSON object|another schema") as caught:
        home.append("a.json", content)
    assert "a.json" in (caught.value.where or "")
    assert list_categories(home.path) == []


def test_a_file_of_which_no_row_fits_is_an_error(home: Home) -> None:
    home.append("a.json", lines({"id": 1}))
    with pytest.raises(InputError, match="none of the 2 rows"):
        home.append("b.json", lines({"id": "x"}, {"id": "y"}))
    assert home.category().next_commit() == 1


values = st.one_of(st.none(), st.integers(-(2**60), 2**60), st.just("garbage"))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(values, min_size=1, max_size=40), st.integers(5, 200))
def test_every_json_line_is_a_row_or_kept_aside(
    tmp_path_factory: Any, column: list[Any], block_bytes: int
) -> None:
    home = Home(tmp_path_factory.mktemp("json"))
    texts = [value if value == "garbage" else json.dumps({"id": value}) for value in column]
    good = [value for value in column if value != "garbage"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "BLOCK_BYTES", block_bytes)
        if not good:
            with pytest.raises(InputError):
                home.append("a.json", lines(*texts))
            return
        result = home.append("a.json", lines(*texts))
    assert (result.rows, result.rejected) == (len(good), len(column) - len(good))
    found = [row["id"] for row in home.rows()]
    assert found == good


# CSV


def test_csv_types_come_from_all_rows(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 120)
    header = "id,price,ok,zip,day,eventtime,note,void\n"
    rows = [
        '1,1,true,007,2024-01-31,2024-01-31 12:00:00,"a, ""b""",\n',
        '2,2.5,FALSE,8,2024-02-01,2024-01-31T12:00:00.5Z,"two\nlines",\n',
        '3,,,9,,2024-01-31,"",\n',
        "4,1e3,true,10,2024-02-03,,,\n",
    ]
    result = home.append("events.csv", header + "".join(rows))
    assert (result.rows, result.rejected) == (4, 0)
    assert [str(field.type) for field in home.category().schema] == [
        "int64",
        "double",
        "bool",
        "string",
        "date32[day]",
        "timestamp[us, tz=UTC]",
        "string",
        "string",
    ]
    assert home.category().time_column == "eventtime"
    names = home.category().schema.names
    first, second, third = [tuple(row[name] for name in names) for row in home.rows()[:3]]
    noon, day = utc(2024, 1, 31, 12), datetime.date(2024, 1, 31)
    assert first == (1, 1.0, True, "007", day, noon, 'a, "b"', None)
    half = noon + datetime.timedelta(seconds=0.5)
    assert second == (2, 2.5, False, "8", datetime.date(2024, 2, 1), half, "two\nlines", None)
    assert third == (3, None, None, "9", None, utc(2024, 1, 31), "", None)
    assert home.rows()[3]["note"] is None


def test_csv_rows_that_do_not_fit_are_kept_aside(home: Home) -> None:
    home.append("a.csv", "id,name,flag\n1,a,true\n")
    bad = ["x,a,true", "2,b", "3,c,1", '4,"d, e",maybe', "5,e,true,6", "99999999999999999999,f,true"]
    result = home.append("b.csv", "flag,id,name\n" + "".join(f"true,{i},n\n" for i in range(50)))
    assert result.rejected == 0
    result = home.append("c.csv", "id,name,flag\n10,x,true\n" + "\n".join(bad) + "\n11,y,false\n")
    assert (result.rows, result.rejected) == (2, len(bad))
    assert sorted(raw for _, raw in home.kept_aside()) == sorted(bad)
    assert ("expected 3 fields, found 2", "2,b") in home.kept_aside()
    assert ("column flag: expected true or false, found '1'", "3,c,1") in home.kept_aside()
    assert [row["id"] for row in home.rows()] == [1, *range(50), 10, 11]


def test_csv_bytes_that_are_no_text_are_kept_aside(home: Home) -> None:
    result = home.append("a.csv", b"id,name\n1,a\n2,\xff\xfe\n3,c\n")
    assert (result.rows, result.rejected) == (2, 1)
    assert home.kept_aside()[0][1] == "2,\\xff\\xfe"


def test_csv_of_another_header_is_another_schema(home: Home) -> None:
    home.append("a.csv", "id,name\n1,a\n")
    with pytest.raises(InputError, match=r"column name is missing; column nom is not in the category"):
        home.append("b.csv", "id,nom\n2,b\n")
    with pytest.raises(InputError, match="does not name its columns: id, id"):
        append_file(home.path, "other", home.file("c.csv", "id,id\n1,2\n"))
    assert len(home.rows()) == 1


@pytest.mark.parametrize("content", [b"\n\n", b"\xff,b\n1,2\n"])
def test_csv_without_a_header_is_an_error(home: Home, content: bytes) -> None:
    with pytest.raises(InputError, match="header line"):
        home.append("a.csv", content)


def test_csv_that_is_given_up_disturbs_no_other_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow reads ahead in a thread; it must not read on from a file that has been closed meanwhile."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    content = "id,text\n" + "".join(f"{i},{'x' * 20}\n" for i in range(400))
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    file = home.file("a.csv", content)
    for _ in range(20):
        given_up = delimited.CsvSource(file).read(schema, lambda raw, reason: None, lambda done: None)
        next(given_up)
        given_up.close()
        rows = delimited.CsvSource(file).read(schema, lambda raw, reason: None, lambda done: None)
        assert [i for batch in rows for i in batch.column("id").to_pylist()] == [*range(400)]


def test_a_feed_that_is_closed_reads_no_more() -> None:
    stream = pa.BufferReader(b"0123456789")
    feed = delimited.ReadAhead(stream, stream)
    assert feed.read(4) == b"0123"
    assert feed.position == 4
    feed.close()
    assert feed.read(4) == b""
    assert stream.tell() == 4


def test_csv_with_a_header_alone_makes_an_empty_category(home: Home) -> None:
    assert home.append("a.csv", "id,name\n").commit is None
    assert home.category().schema.names == ["id", "name"]


def test_tabs_and_compression_go_by_the_name(home: Home) -> None:
    home.append("a.tsv", "id\tname\n1\ta,b\n")
    home.append("b.csv.gz", gzip.compress(b"id,name\n2,b\n"))
    home.append("c.jsonl.gz", gzip.compress(b'{"id": 3, "name": "c"}\n'))
    assert [(row["id"], row["name"]) for row in home.rows()] == [(1, "a,b"), (2, "b"), (3, "c")]
    with pytest.raises(InputError, match="cannot be read"):
        home.append("d.csv.gz", gzip.compress(b"id,name\n4,d\n" * 1000)[:-20])
    assert len(home.rows()) == 3


# Parquet


def test_parquet_types_become_those_of_spark(home: Home) -> None:
    table = pa.table(
        {
            "u32": pa.array([1], pa.uint32()),
            "u64": pa.array([2**64 - 1], pa.uint64()),
            "naive": pa.array([datetime.datetime(2024, 1, 31)], pa.timestamp("ms")),
            "berlin": pa.array([utc(2024, 1, 31)], pa.timestamp("ns", "Europe/Berlin")),
            "word": pa.array(["a"]).dictionary_encode(),
            "large": pa.array(["b"], pa.large_string()),
            "deep": pa.array([[{"u": 1}]], pa.list_(pa.struct([("u", pa.uint8())]))),
            "money": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        }
    )
    home.append("a.parquet", table)
    schema = home.category().schema
    assert [str(schema.field(name).type) for name in ("u32", "u64", "word", "large")] == [
        "int64",
        "decimal128(20, 0)",
        "string",
        "string",
    ]
    assert schema.field("naive").type == schema.field("berlin").type == TIMESTAMP
    assert home.rows() == [
        {
            "u32": 1,
            "u64": Decimal(2**64 - 1),
            "naive": utc(2024, 1, 31),
            "berlin": utc(2024, 1, 31),
            "word": "a",
            "large": "b",
            "deep": [{"u": 1}],
            "money": Decimal("1.50"),
        }
    ]
    home.append("b.parquet", table)
    assert len(home.rows()) == 2


def test_parquet_casts_lose_nothing(home: Home) -> None:
    home.append(
        "a.parquet", pa.table({"id": pa.array([1], pa.int64()), "at": pa.array([0], pa.timestamp("us"))})
    )
    home.append(
        "b.parquet", pa.table({"at": pa.array([1], pa.timestamp("s")), "id": pa.array([2], pa.int32())})
    )
    assert [(row["id"], row["at"]) for row in home.rows()] == [
        (1, utc(1970, 1, 1)),
        (2, utc(1970, 1, 1, 0, 0, 1)),
    ]
    finer = pa.table({"id": [3], "at": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(InputError, match="column at does not fit") as caught:
        home.append("c.parquet", finer)
    assert "c.parquet" in (caught.value.where or "")
    with pytest.raises(
        InputError, match=r"column id is string, not int64; column at .* is missing"
    ) as caught:
        home.append("d.parquet", pa.table({"id": ["x"]}))
    assert "nothing of it was committed" in (caught.value.hint or "")
    assert len(home.rows()) == 2


def test_a_damaged_parquet_file_enters_whole_or_not_at_all(home: Home) -> None:
    table = pa.table({"id": np.arange(5000), "name": [f"name {i}" for i in range(5000)]})
    path = home.folder / "whole.parquet"
    pq.write_table(table, path, write_page_checksum=True, row_group_size=500)
    data = path.read_bytes()
    for number, position in enumerate(range(0, len(data), len(data) // 25)):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        for kind, content in (("flipped", bytes(flipped)), ("cut", data[:position])):
            fresh = Home(home.folder / f"{kind} {number}")
            fresh.folder.mkdir()
            if not content:
                continue
            try:
                fresh.append("a.parquet", content)
            except InputError as error:
                assert "a.parquet" in (error.where or "")  # noqa: PT017
                assert list_categories(fresh.path) == []
            else:
                assert len(fresh.rows()) == 5000


def test_a_parquet_file_without_rows_makes_an_empty_category(home: Home) -> None:
    result = home.append("a.parquet", pa.table({"id": pa.array([], pa.int64())}))
    assert (result.commit, result.rows) == (None, 0)
    assert home.category().schema.names == ["id"]


def test_a_failed_first_file_leaves_no_category(home: Home) -> None:
    data = pq_bytes(home, pa.table({"id": np.arange(1000)}))
    broken = data[:100] + b"\xff" * 200 + data[300:]
    with pytest.raises(InputError):
        home.append("a.parquet", broken)
    with pytest.raises(CategoryNotFound):
        home.category()
    home.append("a.json", lines({"other": "schema"}))
    assert home.rows() == [{"other": "schema"}]


def pq_bytes(home: Home, table: pa.Table) -> bytes:
    pq.write_table(
        table, home.folder / "x", write_page_checksum=True, compression="none", use_dictionary=False
    )
    return (home.folder / "x").read_bytes()


# All formats


def test_the_order_of_the_file_stays_whatever_the_buckets(home: Home) -> None:
    table = pa.table({"id": np.arange(1000)})
    home.append("a.parquet", table, buckets=7)
    assert [row["id"] for row in home.rows()] == [*range(1000)]
    counts = home.category().commit(0).segments[0].rows_per_bucket
    assert len(counts) == 7
    assert max(counts) - min(counts) <= 1
    with pytest.raises(CategoryMismatch, match="7 buckets"):
        home.append("a.parquet", table, buckets=8)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"at": TIMESTAMP}, "at"),
        ({"at": TIMESTAMP, "eventtime": TIMESTAMP}, "eventtime"),
        ({"a": TIMESTAMP, "b": TIMESTAMP}, None),
        ({"time": pa.int64()}, None),
        ({"timestamp": TIMESTAMP, "event_time": TIMESTAMP}, "event_time"),
    ],
)
def test_the_usual_time_column(columns: dict[str, pa.DataType], expected: str | None) -> None:
    assert usual_time_column(pa.schema(list(columns.items()))) == expected


def test_the_time_column_feeds_the_sketch_and_is_remembered(home: Home) -> None:
    rows = {"a": [utc(2024, 1, 1), None], "b": [utc(2025, 1, 1), utc(2026, 1, 1)], "n": [1, 2]}
    table = pa.table(rows)
    commit = home.append("a.parquet", table, time_column="a").commit
    assert commit is not None
    assert (commit.sketch.count, commit.sketch.nulls) == (1, 1)
    assert commit.sketch.min_us == utc(2024, 1, 1).timestamp() * 1e6
    assert home.append("b.parquet", table).commit.sketch == commit.sketch  # type: ignore[union-attr]
    with pytest.raises(CategoryMismatch, match="from column a"):
        home.append("c.parquet", table, time_column="b")
    for wrong in ("n", "nowhere"):
        with pytest.raises(InputError, match=wrong) as caught:
            append_file(home.path, "other", home.file("d.parquet", table), time_column=wrong)
        assert caught.value.expected
    assert list_categories(home.path) == ["events"]


def test_categories_of_applications_are_not_for_people(home: Home) -> None:
    schema = pa.schema([("_hash", pa.int64()), ("id", pa.int64())])
    Category.create(home.path, "events", schema)
    with pytest.raises(InputError, match="belongs to an application"):
        home.append("a.json", lines({"_hash": 1, "id": 1}))


def test_progress_ends_at_the_end(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 100)
    contents: list[tuple[str, Any]] = [
        ("a.json", lines(*({"id": i} for i in range(100)))),
        ("a.csv", "id\n" + "".join(f"{i}\n" for i in range(100))),
        ("a.parquet", pa.table({"id": np.arange(100)})),
    ]
    for name, content in contents:
        seen: list[int] = []
        file = home.file(name, content)
        append_file(home.path, "events", file, progress=seen.append)
        assert seen == sorted(seen)
        assert seen[-1] == file.bytes


def test_files_and_folders_are_found(home: Home) -> None:
    folder = home.folder / "parts"
    (folder / "below").mkdir(parents=True)
    for name in ("b.json", "a.json", "_SUCCESS", ".hidden", "below/c.json"):
        (folder / name).write_text("{}")
    (folder / "empty.json").touch()
    assert [Path(file.path).name for file in find_files([str(folder)])] == ["a.json", "b.json"]
    single = str(folder / "b.json")
    assert [file.path for file in find_files([single, f"file://{single}"])] == [single, f"file://{single}"]
    for path, message in [
        (str(folder / "nothing.json"), "no such file"),
        (str(folder / "empty.json"), "file is empty"),
        ("gopher://x/y", "cannot be opened"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            find_files([path])
        assert caught.value.where == path
    (home.folder / "void").mkdir()
    with pytest.raises(InputError, match="no files with rows"):
        find_files([str(home.folder / "void")])


@pytest.mark.parametrize(
    ("name", "start", "expected"),
    [
        ("x.PARQUET", b"", "parquet"),
        ("x.ndjson", b"", "json"),
        ("x.csv.zst", b"", "csv"),
        ("x", b"PAR1....", "parquet"),
        ("x.log", b'\n {"a": 1}', "json"),
    ],
)
def test_formats_are_told_apart(home: Home, name: str, start: bytes, expected: str) -> None:
    assert detect(home.file(name, start)) == expected


def test_a_format_that_the_name_does_not_say_must_be_given(home: Home) -> None:
    with pytest.raises(InputError, match="does not say its format") as caught:
        home.append("data.txt", "id\n1\n")
    assert "--format" in (caught.value.hint or "")
    with pytest.raises(InputError, match="unknown format"):
        home.append("data.txt", "id\n1\n", kind="xml")
    home.append("data.txt", "id\n1\n", kind="csv")
    assert home.rows() == [{"id": 1}]


@given(st.lists(st.booleans(), max_size=60))
def test_salvage_finds_exactly_the_bad_rows(good: list[bool]) -> None:
    def attempt(start: int, stop: int) -> list[int]:
        if not all(good[start:stop]):
            raise pa.ArrowInvalid("bad")
        return [*range(start, stop)]

    parts = list(salvage(len(good), attempt))
    assert [row for part in parts for row in range(part.start, part.stop)] == [*range(len(good))]
    assert [part.start for part in parts if part.reason] == [i for i, fine in enumerate(good) if not fine]
    assert all(part.value == [*range(part.start, part.stop)] for part in parts if part.reason is None)
    if all(good):
        assert len(parts) <= 1


def test_many_rejected_rows_go_in_several_files(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.log.ingest.append.REJECTED_AT_ONCE", 10)
    result = home.append("a.json", lines({"id": 1}, *["bad"] * 25))
    assert result.rejected == 25
    assert [info.rows for info in home.category().commit(0).rejected] == [10, 10, 5]
    assert len(home.kept_aside()) == 25


def test_types_that_a_format_cannot_hold_are_an_error(home: Home) -> None:
    home.append(
        "a.parquet", pa.table({"id": [1], "pairs": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    )
    for name, content in [("b.json", lines({"id": 1})), ("b.csv", "id,pairs\n1,x\n")]:
        with pytest.raises(DovetailError, match="cannot be read"):
            home.append(name, content)
    assert len(home.rows()) == 1
