"""A process that plays the driver and the tasks of a run: it writes batches into a sink, the last one of its
predecessor again, and may be killed at any moment."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import pyarrow as pa

from dovetail.connectors.kinds import open_sink
from dovetail.connectors.sink import Writer
from dovetail.crash_points import VARIABLE, arm, crash_point

SCHEMA = pa.schema([("batch", pa.int64()), ("row", pa.int64())])
ROWS = 50
LIBRARIES = [
    "duckdb",
    "deltalake",
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
    "adbc_driver_postgresql.dbapi",
    "pymetastore.hive_metastore.ThriftHiveMetastore",
    "thrift.transport.TSocket",
]


def rows_of(batch: int) -> list[pa.RecordBatch]:
    columns = {"batch": [batch] * ROWS, "row": list(range(ROWS))}
    return [pa.RecordBatch.from_pydict(columns, SCHEMA)]


def write(
    kind: str, options: dict[str, Any], batches: int, crash: str | None, said: Connection, stays: bool
) -> None:
    """Says each batch that counts. `stays`: it does not end by itself, however late it is killed."""
    arm({VARIABLE: crash} if crash else {})
    sink = open_sink(kind, options.items(), Writer("app", "t", "checkpoint"))
    sink.prepare(SCHEMA)
    output = sink.output(SCHEMA)
    said.send("ready")
    for batch in range(max(sink.last(), 0), batches):  # the last one again: nobody knows that it counted
        crash_point("sink", "begun")
        written = [text for half in (0, 1) if (text := output.write(rows_of(batch)[half:]))]
        crash_point("sink", "written")
        sink.commit(batch, written)
        crash_point("sink", "committed")
        said.send(batch)
    if stays:
        signal.pause()


def start(
    kind: str, options: dict[str, Any], batches: int, crash: str | None, *, stays: bool
) -> tuple[BaseProcess, Connection]:
    """In a process forked from one that has imported what sinks need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *LIBRARIES])
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=write, args=(kind, options, batches, crash, there, stays), daemon=True)
    process.start()
    there.close()
    return process, here
