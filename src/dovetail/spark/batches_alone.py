"""Micro-batches of a join's query that run without Spark, in a thread of the driver.

    offsets/42        batch 42 goes so far
    (rows)            its tasks write them, one after the other
    (output)          they count: a commit of the log, or a list of files
    commits/42        batch 42 is done

Law: numbers, contents and order are those of Spark, so a kill anywhere in between means what it means for a
query: what runs next, a thread or Spark, runs the same batch again, and the output takes it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.changes.own_folders import output_folder
from dovetail.crash_points import crash_point
from dovetail.engine.index_folders import index_root, join_directory
from dovetail.engine.join_step import run_step
from dovetail.engine.live_index import groups_at
from dovetail.engine.planner import JoinPlanner
from dovetail.log.category import Category
from dovetail.model.offset import JoinOffset
from dovetail.plan.physical import CategoryOutput, FileSink, NoopSink, Output, ScribeSink, filed_under
from dovetail.plan.stage_promises import after_join, promised_columns
from dovetail.slicing.file_list import WHOLE_EVERY, FileList
from dovetail.slicing.parquet_output import WrittenFile
from dovetail.slicing.sides import append_written
from dovetail.spark.batch_files import last_done, last_planned, offsets_at
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.head_start_notes import JoinNote
from dovetail.spark.seeding import note_done, note_planned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REBUILT_ROWS = 1_000_000
"""A thread rebuilds the state of all tasks in turn. With more rows than this in the window, tasks of Spark,
which do it at the same time, are there before it is done."""


class _Planned(NamedTuple):
    batch: int
    end: JoinOffset


class BatchesAlone:
    def __init__(self, join: JoinNote) -> None:
        config = join.config
        self._stage, self._config, self._writing = join.stage, config, join.writing
        self._checkpoint = Checkpoint(config.home, config.application, filed_under(join.stage))
        self._planner = JoinPlanner(config)
        self._done = last_done(self._checkpoint)
        self._unfinished: _Planned | None = None
        planned = last_planned(self._checkpoint)
        self._has_run = planned >= 0
        self._start = self._end_of(self._done) if self._done >= 0 else self._planner.first()
        if planned > self._done:
            self._unfinished = _Planned(self._done + 1, self._end_of(self._done + 1))

    @property
    def possible(self) -> bool:
        """The join has run, and its state is at hand, or is quickly made."""
        if not self._has_run or not (self._is_live() or self._rows() <= REBUILT_ROWS):
            return False
        output = self._stage.output
        return not isinstance(output, FileSink) or FileList(output_folder(output.path)).is_usual()

    def run_next(self) -> None:
        """Run the batch that was begun, or the next one if there is something to do within a moment."""
        planned, self._unfinished = self._unfinished or self._plan(), None
        if planned is None:
            return
        crash_point("sink", "begun")
        batch, end = planned
        steps = (
            run_step(self._config, task, self._start, end, self._writing.joined) for task in range(end.tasks)
        )
        written = [said for rows in steps if (said := self._writing.output.write(rows)) is not None]
        self._let_count(batch, end, written)
        crash_point("sink", "committed")
        note_done(self._checkpoint, batch)
        self._planner.retain(end)
        self._done, self._start = batch, end

    def _plan(self) -> _Planned | None:
        self._planner.await_news(self._start)
        end = self._planner.plan(self._start)
        if end is self._start:
            return None
        note_planned(self._checkpoint, self._done + 1, end.to_json())
        return _Planned(self._done + 1, end)

    def _let_count(self, batch: int, end: JoinOffset, written: list[str]) -> None:
        match self._stage.output:
            case FileSink(path=path):
                FileList(output_folder(path)).add(batch, [WrittenFile.from_json(said) for said in written])
            case CategoryOutput(category=name) | ScribeSink(category=name):
                promise = after_join(self._stage, end) if promised_columns(self._stage) else None
                producer = f"{self._config.application}.{self._stage.name}"
                append_written(Category.open(self._config.home, name), written, producer, batch, promise)

    def _end_of(self, batch: int) -> JoinOffset:
        said: Any = offsets_at(self._checkpoint, batch)[0]
        return JoinOffset.from_json(said)

    def _is_live(self) -> bool:
        config, start = self._config, self._start
        directory = join_directory(index_root(config.index_dir), config.home, config.state_path)
        return len(groups_at(directory, start.tasks, start.version)) == start.tasks

    def _rows(self) -> int:
        """In the window, at most."""
        at = self._start
        bounds = ((at.left_floor, at.left), (at.right_floor, at.right))
        return sum(
            category.first_row(stop) - category.first_row(floor)
            for category, (floor, stop) in zip(self._planner.categories, bounds, strict=True)
        )


def lets_count(output: Output, spark: SparkSession) -> bool:
    """Whether a batch of this output can be let count without Spark."""
    if isinstance(output, FileSink):
        return str(spark.conf.get("spark.sql.streaming.fileSink.log.compactInterval")) == str(WHOLE_EVERY)
    return isinstance(output, CategoryOutput | ScribeSink | NoopSink)
