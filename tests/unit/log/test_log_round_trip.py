"""What is written is what is read: every type, any cut into batches and chunks, grouped and in order."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.errors import CategoryMismatch, CategoryNotFound, InputError
from dovetail.log import blocks
from dovetail.log.category import Category, list_categories
from dovetail.log.commit import SegmentInfo
from dovetail.model.sketch import EventTimeSketch
from dovetail.model.time_codes import NO_TIME

UTC = datetime.UTC
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bucket": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "decimal": (pa.decimal128(12, 2), st.decimals(-(10**9), 10**9, places=2)),
    "string": (pa.string(), st.text(st.characters(codec="utf-8"))),
    "large": (pa.large_string(), st.text(st.characters(codec="utf-8"))),
    "binary": (pa.binary(), st.binary()),
    "fixed": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "bool": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "time": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "naive": (pa.timestamp("us"), st.datetimes()),
    "list": (pa.list_(pa.int64()), st.lists(st.one_of(st.none(), st.integers(0, 9)))),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]),
        st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.lists(st.text("xy"))}),
    ),
    "map": (pa.map_(pa.string(), pa.int64()), st.lists(st.tuples(st.text("ab"), st.integers(0, 9)))),
    "null": (pa.null(), st.none()),
}
SCHEMA = pa.schema([pa.field(name, kind, nullable=name != "bucket") for name, (kind, _) in COLUMNS.items()])
rows_lists = st.lists(
    st.fixed_dictionaries(
        {
            name: values if name == "bucket" else st.one_of(st.none(), values)
            for name, (_, values) in COLUMNS.items()
        }
    ),
    max_size=20,
)


def bucket_of(rows: pa.RecordBatch) -> np.ndarray:
    return rows.column("bucket").to_numpy() % 4


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    rows=rows_lists,
    batch_rows=st.integers(1, 7),
    max_rows=st.integers(1, 9),
    max_bytes=st.sampled_from([1, 200, 1 << 20]),
    compression=st.sampled_from(["none", "zstd"]),
    block_bytes=st.sampled_from([1, 100, 1 << 14]),
)
def test_every_type_comes_back(
    *,
    homes: Any,
    rows: list[Any],
    batch_rows: int,
    max_rows: int,
    max_bytes: int,
    compression: Any,
    block_bytes: int,
) -> None:
    category = Category.create(
        homes("home"), f"all-{compression}", SCHEMA, buckets=4, compression=compression
    )
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block_bytes)
        infos = category.write_segments(
            table.to_batches(max_chunksize=batch_rows),
            bucket_of,
            lambda _: None,
            max_rows=max_rows,
            max_bytes=max_bytes,
        )
    assert all(0 < info.rows <= max_rows for info in infos)
    commit = category.append(infos)
    if not rows:
        assert infos == []
        assert commit is None
        return
    found, start = [], 0
    for placed in category.commit(commit.number).segments:
        segment = category.open_segment(placed)
        segment.batch.validate(full=True)
        assert segment.batch.schema.equals(SCHEMA)
        chunk = table.slice(start, placed.rows).to_pylist()
        expected = [row for bucket in range(4) for row in chunk if row["bucket"] % 4 == bucket]
        assert segment.batch.to_pylist() == expected
        for bucket in range(4):
            low, high = segment.bucket_range(bucket, bucket + 1)
            assert all(
                row["bucket"] % 4 == bucket for row in segment.batch.slice(low, high - low).to_pylist()
            )
        assert segment.bucket_range(0, 4) == (0, placed.rows)
        start += placed.rows
        found.append(segment)
    assert start == len(rows) == commit.rows


def test_files_are_mapped_and_hold_one_uncompressed_batch(category: Category, put: Any) -> None:
    put(category, 0)
    info = category.commit(0).segments[0]
    before = pa.total_allocated_bytes()
    segment = category.open_segment(info)
    assert pa.total_allocated_bytes() - before < 1000
    with pa.memory_map(f"{category.where}/segments/{info.name}") as file:
        reader = pa.ipc.open_file(file)
        assert reader.num_record_batches == 1
        assert reader.schema.metadata[b"dovetail.format"] == b"dovetail.segment"
    assert segment.batch.column("id").to_pylist() == [0, 4, 8, 1, 5, 9, 2, 6, 3, 7]


def test_dictionaries_are_decoded_and_types_widened(category: Category) -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["b", None, "b"]).dictionary_encode(), pa.array([1, 2, 3], pa.int32())],
        names=["name", "id"],
    )
    infos = category.write_segments([batch], lambda rows: np.zeros(rows.num_rows, int), lambda _: None)
    segment = category.open_segment(infos[0])
    assert segment.batch.to_pylist() == [
        {"id": 1, "name": "b"},
        {"id": 2, "name": None},
        {"id": 3, "name": "b"},
    ]
    assert segment.batch.schema.equals(category.schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["1"], "name": ["a"]}, "column id is string, not int64"),
        ({"id": [1]}, "column name .* is missing"),
        ({"id": [1], "name": ["a"], "more": [1]}, "column more is not in the category"),
    ],
)
def test_rows_of_another_schema_are_refused(
    category: Category, columns: dict[str, Any], message: str
) -> None:
    batch = pa.RecordBatch.from_pydict(columns)
    with pytest.raises(CategoryMismatch, match=message):
        category.write_segments([batch], lambda rows: np.zeros(rows.num_rows, int), lambda _: None)


def test_nulls_where_there_may_be_none_are_refused(tmp_path: Any) -> None:
    schema = pa.schema([pa.field("_hash", pa.int64(), nullable=False)])
    category = Category.create(str(tmp_path), "sliced", schema)
    batch = pa.RecordBatch.from_pydict({"_hash": pa.array([1, None])})
    with pytest.raises(CategoryMismatch, match="has nulls"):
        category.write_segments([batch], lambda rows: np.zeros(rows.num_rows, int), lambda _: None)


def test_the_sketch_of_a_commit_covers_its_segments(category: Category, put: Any) -> None:
    batch = pa.RecordBatch.from_pydict({"id": [5, NO_TIME, 9, 7], "name": ["x"] * 4}, schema=category.schema)
    ids = lambda rows: rows.column("id").to_numpy()  # noqa: E731
    infos = category.write_segments([batch], lambda rows: ids(rows) % 4, ids, max_rows=2)
    assert len(infos) == 2
    commit = category.append(infos)
    assert commit is not None
    assert commit.sketch == EventTimeSketch.of(np.array([5, NO_TIME, 9, 7]))
    untimed = category.write_segments([batch], lambda rows: ids(rows) % 4, lambda _: None)
    assert untimed[0].sketch == EventTimeSketch(nulls=4)


def test_infos_travel_as_json_and_handles_by_pickle(category: Category, put: Any) -> None:
    info = put.write(category, 0)[0]
    assert SegmentInfo.from_json(info.to_json()) == info
    other = pickle.loads(pickle.dumps(category))
    assert other == category
    other.append([info])
    assert category.next_commit() == 1


def test_creating_again_opens_and_creating_another_is_refused(category: Category) -> None:
    assert Category.create(category.home, "clicks", category.schema, buckets=4) == category
    for schema, buckets in [(category.schema, 8), (pa.schema([("id", pa.int64())]), 4)]:
        with pytest.raises(CategoryMismatch) as caught:
            Category.create(category.home, "clicks", schema, buckets=buckets)
        assert "id: int64, name: string" in caught.value.what
        assert f"{buckets} buckets" in (caught.value.expected or "")


def test_a_missing_category_names_those_that_exist(category: Category) -> None:
    with pytest.raises(CategoryNotFound, match="clicks") as caught:
        Category.open(category.home, "klicks")
    assert "clicks" in str(caught.value)
    assert list_categories(category.home) == ["clicks"]
    assert list_categories(category.home + "/nothing") == []


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "-x", "a b", "x" * 201])
def test_names_that_cannot_be(category: Category, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        Category.open(category.home, name)


@pytest.mark.parametrize("schema", [pa.schema([]), pa.schema([("a", pa.int64()), ("a", pa.string())])])
def test_schemas_that_cannot_be(tmp_path: Any, schema: pa.Schema) -> None:
    with pytest.raises(InputError, match="at least one column"):
        Category.create(str(tmp_path), "bad", schema)


@pytest.mark.parametrize("buckets", [0, 65537])
def test_buckets_that_cannot_be(tmp_path: Any, buckets: int) -> None:
    with pytest.raises(InputError, match="buckets"):
        Category.create(str(tmp_path), "bad", pa.schema([("a", pa.int64())]), buckets=buckets)
