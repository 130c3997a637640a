"""JSON and CSV files for a resident slicer: what the files are, and Spark as the reader of lines in doubt.

Law: what Spark is asked about is asked with the schema, the options and the columns of the query that it
would otherwise run, so the answer is the same. That matters: a line with a bad value in a column that
nobody needs is a row for Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dovetail.plan.physical import FilesSource, InputTable, SlicerStage, rejects_category
from dovetail.slicing.covered_files import CoveredFiles, Slicer
from dovetail.slicing.direct import DirectSlice
from dovetail.slicing.input_files import PACE, input_files
from dovetail.slicing.owed_rejects import forget_owed, owed_of, owed_rejects
from dovetail.slicing.text_form import Aside, TextForm, kept_by_threads
from dovetail.slicing.text_lines import TextFormat
from dovetail.slicing.text_options import UTC, are_followed, text_format
from dovetail.slicing.thread_record import left_by_thread
from dovetail.spark.arrow_types import arrow_schema
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.file_frames import FilesRead
from dovetail.spark.inputs import CORRUPT, rejects_of, text_schema
from dovetail.spark.seeding import as_uri
from dovetail.spark.slicer import make_category
from dovetail.spark.standings import files_before, read_by_query

_TIME_ZONE, _POLICY = "spark.sql.session.timeZone", "spark.sql.legacy.timeParserPolicy"


@dataclass(frozen=True)
class TextReading:
    """`table`: of PQL, or None for the files of a DataFrame. `rejects`: the query that keeps the table's
    rejects where Spark slices; None: this stage does not keep them."""

    spark: SparkSession
    place: str
    format: TextFormat
    schema: StructType
    options: dict[str, str]
    table: InputTable | None
    rejects: str | None = None

    def form(
        self, slice_: DirectSlice, slicer: Slicer, covered: CoveredFiles, checkpoint: Checkpoint
    ) -> TextForm:
        reader = TextReader(self, tuple(slice_.read_columns))
        aside = self._aside(reader, slicer, covered, checkpoint)
        return TextForm(slice_, self.place, self.format, reader, aside)

    def _aside(
        self, reader: TextReader, slicer: Slicer, covered: CoveredFiles, checkpoint: Checkpoint
    ) -> Aside | None:
        """Slicer and rejects are two queries of Spark, and one may have been ahead when it was stopped."""
        if self.rejects is None or self.table is None:
            return None
        name = rejects_category(slicer.application, self.table.name)
        shape = reader.rejected([self.place])
        category = make_category(shape, checkpoint.home, name, 1, "auto", "rejects")
        kept = read_by_query(Checkpoint(checkpoint.home, slicer.application, self.rejects), category)
        first = slicer.reading == 1 and left_by_thread(covered.category, slicer) is None
        before = files_before(checkpoint, covered.category, slicer) if first else ()
        whose = checkpoint.home, slicer.application, self.table.name
        if not (owed := owed_rejects(*whose)):
            return Aside(category, slicer, covered, kept, before)
        before = {*before, *owed_of(owed, covered.files, kept_by_threads(category))}
        return Aside(category, slicer, covered, kept, before, lambda: forget_owed(*whose))


@dataclass(frozen=True)
class TextReader:
    """See `text_form.SparkReader`."""

    reading: TextReading
    needed: tuple[str, ...]

    def rows(self, files: Sequence[str]) -> pa.Table:
        read = self._read(files)
        if CORRUPT in read.columns:
            read = read.where(F.col(CORRUPT).isNull())
        return read.select(*(F.col(f"`{name}`") for name in self.needed)).toArrow()

    def rejects(self, files: Sequence[str]) -> pa.Table:
        return self.rejected(files).toArrow()

    def rejected(self, files: Sequence[str]) -> DataFrame:
        return rejects_of(self._read(files))

    def name(self, file: str) -> str:
        return as_uri(file)

    def _read(self, files: Sequence[str]) -> DataFrame:
        made = self.reading
        read = made.spark.read.format(made.format.form).schema(made.schema).options(**made.options)
        inside = [file for file in files if file.startswith(f"{made.place}/") and "=" in file]
        if not inside:
            return read.load([as_uri(file) for file in files])
        others = [file for file in files if file not in inside]
        found = read.option("basePath", as_uri(made.place)).load([as_uri(file) for file in inside])
        return found.unionByName(self._read(others)) if others else found


def text_reading(
    spark: SparkSession, stage: SlicerStage, read: FilesRead, place: str, rejects: str | None
) -> TextReading | None:
    """None: only Spark can read these files as it does."""
    table = stage.inputs[0] if stage.inputs else None
    given = {name: value for name, value in read.options.items() if name not in PACE}
    if not are_followed(read.format, given) or not _in_utc(spark):
        return None
    if table is not None:
        source = cast("FilesSource", table.source)
        schema, options = text_schema(input_files(source.path, source.format), table, source)
    else:
        assert read.schema is not None
        schema, options = read.schema, dict(given)
        if CORRUPT in schema.names or given.get("columnnameofcorruptrecord") in schema.names:
            return None
    options = {name: value for name, value in options.items() if name.lower() not in PACE}
    columns = arrow_schema(StructType([field for field in schema if field.name != CORRUPT]))
    form = text_format(read.format, columns, {name.lower(): value for name, value in options.items()})
    if form is None:
        return None
    return TextReading(spark, place, form, schema, options, table, rejects)


def _in_utc(spark: SparkSession) -> bool:
    """Times without a zone are in UTC, and by the rules of Spark 3 and later."""
    policy: Any = spark.conf.get(_POLICY, "CORRECTED")
    return spark.conf.get(_TIME_ZONE) in UTC and str(policy).upper() != "LEGACY"
