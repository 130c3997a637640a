"""Where a query goes on: the number of its next batch, as the place that it writes to counts them.

A file output lists its batches in `_spark_metadata`, and the log remembers the last batch of a producer.
Both skip a number that they have, so that a batch that comes twice counts once. A stage that takes over
such a place from another must therefore go on behind the last number there: with a lower one its rows would
vanish without a word. And Spark's list may not have gaps, so a stage that is given a new place fills in
what it has written elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from dovetail.engine.planner import JoinPlanner
from dovetail.errors import PlanError
from dovetail.log.category import Category
from dovetail.plan.physical import CategoryOutput, FileSink, ScribeSink, ScribeSource, SlicerStage
from dovetail.spark.batch_files import last_done, last_planned
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.file_sink import fill_gaps, last_named, output_folder

_METADATA = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}


def go_on(spark: SparkSession, built: BuiltStage, home: str, application: str) -> None:
    """Make a stage's next batch one that its output counts. Done again, it changes nothing."""
    checkpoint = Checkpoint(home, application, built.name)
    if last_planned(checkpoint) > last_done(checkpoint):
        return  # it has begun a batch for this very place
    taken = _taken(spark, built, home, application)
    if taken > last_done(checkpoint):
        _skip_to(checkpoint, taken, lambda: _first_offset(built, home))
    if isinstance(built.output, FileSink):
        fill_gaps(spark, output_folder(built.output.path), last_done(checkpoint))


def _taken(spark: SparkSession, built: BuiltStage, home: str, application: str) -> int:
    """The last batch that the output has from a stage of this name, or from whoever wrote there; -1: none."""
    match built.output:
        case FileSink(path=path):
            return last_named(spark, output_folder(path))
        case ScribeSink(category=name) | CategoryOutput(category=name):
            category = Category.open(home, name)
            stop = category.next_commit()
            return category.commit(stop - 1).producers.get(f"{application}.{built.name}", -1) if stop else -1
    return -1


def _skip_to(checkpoint: Checkpoint, batch: int, first_offset: Callable[[], dict[str, Any]]) -> None:
    """Batches up to this one count as done. Spark reads the last two of its offsets."""
    store, folder, done = checkpoint.store, checkpoint.folder, last_done(checkpoint)
    if done >= 0:
        offsets, committed = store.read(f"{folder}/offsets/{done}"), store.read(f"{folder}/commits/{done}")
    else:
        said = [json.dumps(part, separators=(",", ":")) for part in (_METADATA, first_offset())]
        offsets, committed = "\n".join(["v1", *said]).encode(), b'v1\n{"nextBatchWatermarkMs":0}'
        checkpoint.id()
    store.make_folder(f"{folder}/offsets")
    store.make_folder(f"{folder}/commits")
    if batch > 0:
        store.replace(f"{folder}/offsets/{batch - 1}", offsets)
    store.replace(f"{folder}/offsets/{batch}", offsets)
    store.replace(f"{folder}/commits/{batch}", committed)


def _first_offset(built: BuiltStage, home: str) -> dict[str, Any]:
    """Where the source of a stage begins that has never run."""
    if built.join is not None:
        return JoinPlanner(built.join).first().to_json()
    stage = built.stage
    if isinstance(stage, SlicerStage) and len(stage.inputs) == 1:
        source = stage.inputs[0].source
        if isinstance(source, ScribeSource):
            category = Category.open(home, source.category)
            return {"version": 1, "commit": category.first_commit(), "category": category.name}
    raise PlanError(
        f"stage {built.name} would go on writing where another one has written",
        where=str(built.output),
        expected="a place of its own",
        hint="give the table another path",
    )
