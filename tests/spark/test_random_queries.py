"""Random queries give DuckDB's answers on Spark, too, which computes what `dovetail.local` cannot: several of
them in one application, over different sources, in a time zone far from UTC.

A usual run takes the first few. `DOVETAIL_RANDOM_QUERIES` says how many a thorough one takes."""

from __future__ import annotations

import os
from collections import Counter

import pyarrow as pa
import pytest

from differential.random_queries import STREAMS, Query, final, random_query, write_streams
from differential.random_queries import application as text_of
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import Database

EACH = 6
SEEDS = range(int(os.environ.get("DOVETAIL_RANDOM_QUERIES", "60")) if THOROUGH else EACH)
ZONE = "America/St_Johns"
SOURCES = (
    ("parquet as it is", "json", "log as it is"),
    ("csv", "log", "parquet"),
    ("json as it is", "parquet", "csv"),
)


def answer(query: Query, tables: dict[str, pa.Table]) -> Counter[tuple[object, ...]]:
    db = Database()
    db.execute(f"SET TimeZone = '{ZONE}'")
    for name, table in tables.items():
        db.register(name, table)
    for statement in query.sql:
        db.execute(statement)
    return Counter(db.execute(f"FROM {query.table}_answer").fetchall())


def without_empty_texts(rows: pa.Table) -> pa.Table:
    """As Spark reads them from CSV: an empty text is null, also in quotes."""
    texts = pa.array([text or None for text in rows["s"].to_pylist()], pa.string())
    return rows.set_column(rows.schema.get_field_index("s"), "s", texts)


@pytest.mark.parametrize("first", SEEDS[::EACH])
def test_queries_together_are_duckdbs(application: Application, first: int) -> None:
    sources = SOURCES[first // EACH % len(SOURCES)]
    tables = write_streams(application.folder, sources, application.home, files=2)
    for name, source in zip(STREAMS, sources, strict=True):
        if source == "csv":
            tables[name] = without_empty_texts(tables[name])
    queries = [random_query(seed, plain=False) for seed in range(first, first + EACH)]
    application.run(text_of(queries, "{here}", sources, ZONE))
    for query in queries:
        found = final(application.category(query.table))
        columns = [
            column.to_pylist()
            for name, column in zip(found.column_names, found.columns, strict=True)
            if name != "_hash"
        ]
        assert Counter(zip(*columns, strict=True)) == answer(query, tables), "\n".join(query.pql)
