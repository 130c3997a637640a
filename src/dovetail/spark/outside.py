"""Rows of a stage into an external sink: tasks write them, the driver commits the batch.

Law: a batch counts once, whatever dies when. Its number is Spark's, and the sink keeps it with the rows,
under the name of the checkpoint that numbers it: a stage that is given another sink, or a sink that gets
another stage, mistakes no batch for one that it has.

    rows ─► written in the tasks, where nobody reads them ─► a text each ─► the driver: one commit
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from dovetail.changes.versions import read_version, version_numbers
from dovetail.connectors.kinds import SINKS, open_sink
from dovetail.connectors.sink import Sink, TaskOutput, Writer
from dovetail.crash_points import crash_point
from dovetail.engine.masters import is_cluster
from dovetail.errors import PlanError
from dovetail.plan.physical import OutsideSink
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.failures import packs_errors
from dovetail.spark.rows_in_tasks import in_tasks

if TYPE_CHECKING:
    from dovetail.spark.append import Append


def sink_of(output: OutsideSink, checkpoint: Checkpoint) -> Sink:
    home, application = checkpoint.home, checkpoint.application
    # No two homes have made the first version of an application in the same microsecond.
    first = next(iter(version_numbers(home, application)), None)
    made = read_version(home, application, first).made_at_us if first is not None else 0
    writer = Writer(application, checkpoint.query, checkpoint.id(), str(made))
    return open_sink(output.storage, output.options, writer)


def require_reach(output: OutsideSink, master: str, stage: str) -> None:
    """Tasks of a cluster would write to disks of their own."""
    if SINKS[output.storage].one_machine and is_cluster(master):
        raise PlanError(
            f"STORAGE {output.storage} is for one machine, and {master} is a cluster",
            where=f"table {stage}",
            hint="write to PARQUET, DELTA or POSTGRES, and read that with DuckDB",
        )


@dataclass(frozen=True)
class WriteOutside:
    """Runs inside the tasks (`mapInArrow`)."""

    output: TaskOutput

    @packs_errors
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        said = self.output.write(batches)
        if said is not None:
            yield pa.record_batch({"written": [said]})


def committing(sink: Sink, write: WriteOutside | None) -> Append:
    """Lets count what the tasks of a micro-batch write. `write` None: the rows say what they have written."""

    def append(rows: DataFrame, batch: int) -> None:
        if write is not None:
            if batch <= sink.last():
                return
            rows = in_tasks(rows, write)
        written = [row[0] for row in rows.collect()]
        crash_point("sink", "written")
        if written:
            sink.commit(batch, written)

    return append
