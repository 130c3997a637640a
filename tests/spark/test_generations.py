"""An application goes on while the columns of the category that it reads change, whoever slices it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dovetail.errors import CategoryMismatch
from dovetail.log.category import Category
from dovetail.slicing.write_rows import bucket_of, time_of
from dovetail.spark.slicer import make_category
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files

ROWS, PARTS = 4_000, 4
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v BIGINT) FROM SCRIBE("r");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, r.v AS v FROM l JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE result AS SELECT * FROM pairs STORAGE SCRIBE(category = "out");
"""


def cut(table: pa.Table, part: int) -> pa.Table:
    return table.slice(part * ROWS // PARTS, ROWS // PARTS)


def append(category: Category, rows: pa.Table) -> None:
    category.append(category.write_segments(rows.to_batches(), bucket_of(None, 1), time_of("eventtime")))


def test_an_output_gets_the_columns_of_its_query(application: Application) -> None:
    """Also when the query is taken back: what is written now is the newest generation. Only rows keep a type
    from becoming narrower."""

    def made(select: str) -> Category:
        rows = application.spark.sql(f"SELECT {select}")
        return make_category(rows, application.home, "app.view", 1, "auto", "view")

    first, second, third = "1 AS a, 'x' AS b", "'x' AS b, current_date() AS c, 1L AS a", "1L AS a, 'x' AS b"
    assert [made(select).generation for select in (first, first, second, second, third)] == [0, 0, 1, 1, 2]
    assert made(third) == Category.open(application.home, "app.view")
    assert made(first).generation == 3
    wide = made(third)
    row = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}], wide.schema)
    wide.append(wide.write_segments([row], bucket_of(None, 1), time_of(None)))
    with pytest.raises(CategoryMismatch, match=r"CAST\(a AS BIGINT\) AS a"):
        made(first)


def test_columns_change_under_a_query_and_under_a_thread(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = events(ROWS, 400, 1), events(ROWS, 400, 2)
    first = Category.create(application.home, "r", right.schema, buckets=1)
    names = ["v", "note", "id", "k", "eventtime"]
    for part, slicing in enumerate(("spark", "spark", "resident", "resident")):
        write_files(cut(left, part), application.folder / "l", 1, first=part)
        rows = cut(right, part)
        if part % 2:  # each half by a writer of another generation
            noted = rows.append_column("note", pa.array([f"note {part}"] * len(rows))).select(names)
            append(first.evolve(noted.schema), noted.slice(0, 500))
            append(first, rows.slice(500))
            names.reverse()
        else:
            append(first, rows)
        monkeypatch.setenv("DOVETAIL_SLICING", slicing)
        application.run(PQL, "drain" if part == PARTS - 1 else "available-now")
    assert Category.open(application.home, "r").generation == 2
    db = database(l=left, r=right, found=application.category("out"))
    assert differences(db, "FROM found", join_sql("inner", "l.id, r.id, r.v", ON)) == {}
    other = PQL.replace("APPLICATION app", "APPLICATION other").replace("SELECT * FROM", "SELECT l, v FROM")
    with pytest.raises(CategoryMismatch, match="category out exists already"):
        application.run(other, "available-now")
