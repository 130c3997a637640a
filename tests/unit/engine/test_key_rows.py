"""All rows of a key and only they, whatever the key's type."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.joins.rows.key_rows import key_rows, similar_keys
from dovetail.joins.rows.literals import value_of
from dovetail.log.category import Category
from dovetail.slicing.write_rows import bucket_of, time_of

NAMES = ("_key_0", "_key_1")


def category(home: Path, first: pa.DataType, second: pa.DataType, commits: list[list[Any]]) -> Category:
    """Rows `(hash, time, key, key, payload)`."""
    schema = pa.schema(
        [
            ("_hash", pa.int64()),
            ("_time", pa.int64()),
            ("_key_0", first),
            ("_key_1", second),
            ("payload", pa.string()),
        ]
    )
    made = Category.create(str(home), "rows", schema, buckets=3)
    for rows in commits:
        columns = [
            pa.array(list(column), field.type)
            for column, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        batch = pa.record_batch(columns, schema=schema)
        made.append(made.write_segments([batch], bucket_of("_hash", 3), time_of("_time"), max_rows=2))
    return made


def key(*values: tuple[str, pa.DataType]) -> list[pa.Array]:
    return [value_of(text, kind, "--key") for text, kind in values]


def test_keys_of_a_type_that_is_not_hashed_here(tmp_path: Path) -> None:
    money = pa.decimal128(10, 2)
    rows = category(
        tmp_path,
        money,
        pa.bool_(),
        [
            [(5, 100, Decimal("1.50"), True, "a"), (6, 200, Decimal("1.50"), False, "b")],
            [
                (7, 300, None, True, "c"),
                (5, 400, Decimal("1.50"), True, "d"),
                (9, 1, Decimal("2"), True, "e"),
            ],
        ],
    )
    found = key_rows(rows, NAMES, key(("1.5", money), ("true", pa.bool_()))).rows
    assert [(row.hash, row.time_us, row.commit, row.values["payload"]) for row in found] == [
        (5, 100, 0, "a"),
        (5, 400, 1, "d"),
    ]
    segment = rows.open_segment(rows.commit(found[1].commit).segments[0])
    assert segment.batch.num_rows
    assert found[1].written_at_us == rows.commit(1).written_at_us


def test_equal_hashes_of_other_keys_are_not_taken(tmp_path: Path) -> None:
    from dovetail.joins.rows.key_hash import hash_keys

    wanted = key(("7", pa.int64()), ("x", pa.string()))
    (hashed,) = hash_keys(wanted).tolist()
    rows = category(
        tmp_path,
        pa.int64(),
        pa.string(),
        [[(hashed, 1, 7, "x", "ours"), (hashed, 2, 8, "x", "a collision"), (hashed, 3, 7, "x", "ours")]],
    )
    found = key_rows(rows, NAMES, wanted)
    assert [row.values["payload"] for row in found.rows] == ["ours", "ours"]
    assert [row.row for row in found.rows] == [0, 2]
    assert (found.first_commit, found.since_us) == (0, rows.commit(0).written_at_us)


@pytest.mark.parametrize(("text", "nearest"), [("12", [10, 20, 100]), ("90", [100, 20, 10])])
def test_similar_keys_are_near_numbers(tmp_path: Path, text: str, nearest: list[int]) -> None:
    made = [(number, 1, number, "x", "") for number in (10, 100, 20)]
    rows = category(tmp_path, pa.int64(), pa.string(), [made, [(1, 1, None, "x", "")]])
    wanted = key((text, pa.int64()), ("x", pa.string()))
    assert [found[0] for found in similar_keys(rows, NAMES, wanted, 3)] == nearest


def test_a_category_without_rows(tmp_path: Path) -> None:
    rows = category(tmp_path, pa.int64(), pa.string(), [])
    wanted = key(("1", pa.int64()), ("x", pa.string()))
    assert key_rows(rows, NAMES, wanted) == ((), 0, None)
    assert similar_keys(rows, NAMES, wanted, 3) == []
