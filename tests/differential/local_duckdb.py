"""A whole application in this process, with DuckDB as the engine of its aggregates.

What closes, and with which rows, is Dovetail's; what is computed from the rows of closed windows Spark would
compute, and here DuckDB does. So windows, ranks and early results are tested without Java.
"""

from __future__ import annotations

import tempfile

import duckdb
import pyarrow as pa
import sqlglot

from dovetail.engine.copying import settle
from dovetail.local.graph import Graph
from dovetail.plan.aggregates import WINDOW_CLOSED
from dovetail.plan.physical import WindowStage
from dovetail.plan.qualified import without_qualify
from dovetail.pql.compile import compile_pql


def aggregated(stage: WindowStage, rows: pa.Table) -> pa.Table:
    """The result of an aggregate's query over the rows of whole windows."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("_rows", rows)
        bounds = f'struct_pack("start" := _window_start, "end" := _window_end) AS "{stage.window_name}"'
        closed = f", _window_closed AS {WINDOW_CLOSED}" if "_window_closed" in rows.schema.names else ""
        columns = "".join(f', "{column.name}"' for column in stage.columns)
        db.execute(f'CREATE VIEW "{stage.source_name}" AS SELECT {bounds}{closed}{columns} FROM _rows')
        (sql,) = sqlglot.transpile(without_qualify(stage.select), read="spark", write="duckdb")
        made = db.sql(sql).to_arrow_table()
    fields = [field.with_type(_as_spark(field.type)) for field in made.schema]
    return made.cast(pa.schema(fields)).combine_chunks()


def _as_spark(kind: pa.DataType) -> pa.DataType:
    """DuckDB sums whole numbers in 128 bits."""
    return pa.int64() if pa.types.is_decimal(kind) and kind.scale == 0 else kind


def run(text: str, home: str = ".", *, live: bool = False) -> dict[str, pa.Table]:
    """Every table of an application, at the end of its inputs. `live`: its stages take turns until then, each
    with a file or a step at a time."""
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as work:
        try:
            graph = Graph(compile_pql(text), home, work, aggregation=aggregated)
            stepped = live
            while stepped:
                done = [runner.step() for runner in graph.runners.values()]
                stepped = any(done)
            graph.drain()
            return graph.tables()
        finally:
            settle()
