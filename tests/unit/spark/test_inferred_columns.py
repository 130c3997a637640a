"""Input tables without a list of columns have those of their source."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from dovetail.log.category import Category
from dovetail.pql.check import check
from dovetail.pql.parser import parse
from dovetail.pql.render import render
from dovetail.spark.inputs import known_types, seen_sources
from unit.connectors.places import IcebergPlace

ROWS = pa.table(
    {
        "t": pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC")),
        "k": pa.array(["a"]),
        "x": pa.array([1], pa.int32()),
        "tags": pa.array([["a"]], pa.list_(pa.string())),
    }
)
TYPED = "t TIMESTAMP, k STRING, x INT, tags ARRAY<STRING>"
TEXT = {
    "json": '{"t": "2023-11-14T22:13:20", "k": "a", "x": 1, "d": 0.5, "b": true, "e": null}\n',
    "csv": "t,k,x,d,b,e\n2023-11-14T22:13:20,a,1,0.5,true,\n",
}


def declared(origin: str, home: Path) -> str:
    text = f"CREATE APPLICATION app; CREATE INPUT TABLE i FROM {origin}; "
    text += "CREATE TABLE o AS SELECT * FROM i STORAGE NOOP;"
    program = parse(text)
    assert parse(render(program)) == program
    assert known_types(program, str(home)) == seen_sources(program, str(home)).types
    report = check(text, source_schemas=known_types(program, str(home)))
    assert report.ok, report.errors
    assert report.plan is not None
    (table,) = report.plan.stages[0].inputs  # type: ignore[union-attr]
    return ", ".join(f"{column.name} {column.type}" for column in table.columns)


def test_of_parquet_files_and_categories(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    pq.write_table(ROWS, tmp_path / "files" / "0.parquet")
    Category.create(str(tmp_path), "category", ROWS.schema, buckets=1)
    assert declared(f'FILES("{tmp_path}/files", format = "parquet")', tmp_path) == TYPED
    assert declared('LOG("category")', tmp_path) == TYPED


def test_of_parquet_files_that_differ(tmp_path: Path) -> None:
    """All columns of all files, in the widest types; a file that does not fit is named."""
    narrow, origin = ROWS.select(["t", "k", "x"]), f'FILES("{tmp_path}/files", format = "parquet")'
    wide = narrow.set_column(2, "x", pa.array([1 << 40])).append_column("y", pa.array([0.5], pa.float32()))
    (tmp_path / "files").mkdir()
    for number, rows in enumerate((narrow, wide, narrow)):
        pq.write_table(rows, tmp_path / "files" / f"{number}.parquet")
    assert declared(origin, tmp_path) == "t TIMESTAMP, k STRING, x BIGINT, y FLOAT"
    pq.write_table(narrow.set_column(2, "x", pa.array(["a"])), tmp_path / "files" / "3.parquet")
    text = f"CREATE APPLICATION app; CREATE INPUT TABLE i FROM {origin}; "
    (error,) = seen_sources(parse(f"{text}CREATE TABLE o AS SELECT * FROM i STORAGE NOOP;"), "").errors
    assert "the file has another type for column x: string" in str(error)


@pytest.mark.parametrize("form", TEXT)
def test_of_text_files(form: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "0").write_text(TEXT[form])
    found = declared(f'FILES("{tmp_path}/files", format = "{form}")', tmp_path)
    assert found == "t TIMESTAMP, k STRING, x BIGINT, d DOUBLE, b BOOLEAN, e STRING"


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["2023-11-14T22:13:20.5", "2023-11-14 22:13:21", None], "TIMESTAMP"),
        (["2023-11-14T22:13:20.25Z", "2023-11-14T22:13:20+01:00"], "TIMESTAMP"),
        (["2023-11-14T22:13:20.123456789Z", "2023-11-14T22:13:20.5Z"], "TIMESTAMP"),
        (["2023-11-14T22:13:20.1234567", "2023-11-14T22:13:20"], "TIMESTAMP"),
        (["2023-11-14T22:13:20.5", "noon"], "STRING"),
        (["2023-11-14T22:13:20.5Z", "2023-11-14T22:13:20.5"], "STRING"),
    ],
)
def test_times_in_json_may_have_fractions(texts: list[str | None], found: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "0").write_text("\n".join(json.dumps({"t": text}) for text in texts))
    assert declared(f'FILES("{tmp_path}/files", format = "json")', tmp_path) == f"t {found}"


@pytest.mark.parametrize("lake", ["DELTA", "ICEBERG"])
def test_of_tables_of_lakes(lake: str, tmp_path: Path) -> None:
    if lake == "DELTA":
        write_deltalake(str(tmp_path / "table"), ROWS)
        assert declared(f'DELTA("{tmp_path}/table")', tmp_path) == TYPED
        return
    place = IcebergPlace(tmp_path)
    catalog = load_catalog("dovetail", type="sql", uri=place.options["uri"], warehouse=f"file://{tmp_path}")
    catalog.create_namespace("results")
    catalog.create_table("results.pairs", ROWS.schema).append(ROWS)
    given = ", ".join(f'{name} = "{value}"' for name, value in place.options.items())
    assert declared(f"ICEBERG({given})", tmp_path) == TYPED


def test_a_source_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    text = 'CREATE APPLICATION app; CREATE INPUT TABLE i FROM LOG("none"); '
    text += "CREATE TABLE o AS SELECT a FROM i STORAGE NOOP;"
    (error,) = check(text).errors
    assert "the columns of `i` are not known" in str(error)
    assert "CREATE INPUT TABLE i (a INT, b STRING)" in str(error)
