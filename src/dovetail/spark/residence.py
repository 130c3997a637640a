"""Which slicers live in the process of the run (`slicing/resident.py`), and which are queries of Spark.

Resident are those that pick, rename or simply compute columns (`short_way.py`): of a category, or of
Parquet, JSON or CSV files on a path of this machine. They are where Spark runs on this machine too; on a
cluster a query of Spark spreads the work over its executors. DOVETAIL_SLICING decides otherwise: `spark` or
`resident`.

Who slices a stage may change between two runs. How far a query of Spark had come is in its checkpoint, which
the resident slicer reads once. The other way round a checkpoint is written for Spark (`seeding.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dovetail.engine.idle import SourceWatch
from dovetail.engine.masters import is_cluster
from dovetail.engine.planner import HOST_CLOCK
from dovetail.errors import SettingError
from dovetail.log.category import Category
from dovetail.model.validity import Validity
from dovetail.plan.physical import (
    CategoryOutput,
    FilesSource,
    ScribeSource,
    SlicerStage,
    filed_under,
    vanished_category,
)
from dovetail.plan.stage_promises import after_commits, promised_columns
from dovetail.slicing.category_intake import CategoryIntake
from dovetail.slicing.covered_files import CoveredFiles, Slicer
from dovetail.slicing.direct import DirectSlice, direct_slice
from dovetail.slicing.file_form import FileForm
from dovetail.slicing.folder_intake import BATCH_FILES, FolderIntake
from dovetail.slicing.input_files import (
    PACE,
    MissingInput,
    input_files,
    is_local,
    local_path,
    partition_names,
)
from dovetail.slicing.intake import Intake
from dovetail.slicing.parquet_files import check_files, parquet_schema, whole_schema
from dovetail.slicing.parquet_form import ParquetForm
from dovetail.slicing.resident import ResidentSlicer
from dovetail.slicing.text_options import FORMATS
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.file_frames import FilesRead, files_read
from dovetail.spark.short_way import is_ansi, is_utc, short_way
from dovetail.spark.standings import commits_before, files_before
from dovetail.spark.text_reading import TextReading, text_reading

VARIABLE = "DOVETAIL_SLICING"
_PLAIN = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def may_reside(master: str) -> bool:
    """Whether slicers of this run may be resident."""
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in ("auto", "spark", "resident"):
        raise SettingError(
            f"{asked!r} is not a way to slice", where=VARIABLE, expected="auto, spark or resident"
        )
    return asked == "resident" or (asked == "auto" and not is_cluster(master))


@dataclass(frozen=True)
class Residence:
    """A stage whose slicer can be resident: what it reads, and how that becomes rows of its category.
    `files`: None if it reads a category. `text`: of JSON and CSV files."""

    stage: SlicerStage
    slicer: Slicer
    slice: DirectSlice
    files: FilesRead | None
    text: TextReading | None = None

    def open(self, checkpoint: Checkpoint) -> Intake:
        category = Category.open(self.slice.home, self.slice.category)
        if self.files is None:
            source = Category.open(self.slice.home, self.slicer.place)
            watch = SourceWatch(source, HOST_CLOCK.steady_us)
            promises = bool(promised_columns(self.stage))
            return CategoryIntake(
                category,
                self.slicer,
                self.slice,
                before=lambda: commits_before(checkpoint, category, self.slicer),
                promise_of=partial(self._promise, source) if promises else (lambda commit: None),
                quiet=watch.quiet_us,
            )
        table = self.stage.inputs[0].name if self.stage.inputs else self.stage.name
        return FolderIntake(
            category,
            self.slicer,
            lambda covered: self._form(covered, checkpoint),
            vanished_category(self.slicer.application, table),
            before=lambda: files_before(checkpoint, category, self.slicer),
            max_files=min(BATCH_FILES, int(self.files.options.get("maxfilespertrigger", BATCH_FILES))),
        )

    def _form(self, covered: CoveredFiles, checkpoint: Checkpoint) -> FileForm:
        if self.text is not None:
            return self.text.form(self.slice, self.slicer, covered, checkpoint)
        return ParquetForm(self.slice, self._names())

    def _names(self) -> tuple[str, ...]:
        """The columns that every file must have."""
        if self.stage.inputs:
            return tuple(column.name for column in self.stage.inputs[0].columns)
        assert self.files is not None
        return tuple(dict.fromkeys(self.files.columns.values()))

    def _promise(self, source: Category, commit: int) -> Any:
        return after_commits(self.stage, self.slice.home, {source.name: commit})

    def slicing(self, home: str, **how: Any) -> ResidentSlicer:
        """To be started. `how`: see `ResidentSlicer`."""
        checkpoint = Checkpoint(home, self.slicer.application, filed_under(self.stage))
        category = Category.open(self.slice.home, self.slice.category)
        return ResidentSlicer(category, self.slicer, lambda: self.open(checkpoint), **how)


def read_by(stage: SlicerStage, rows: DataFrame) -> FilesRead | None:
    """The files that a stage's rows come from. A stage of PQL says so itself. Of a DataFrame Spark knows,
    and it must do no more than pick and rename their columns."""
    if not stage.inputs:
        return files_read(rows)
    source = stage.inputs[0].source
    if not isinstance(source, FilesSource) or len(stage.inputs) != 1:
        return None
    options = {name.lower(): value for name, value in source.options}
    return FilesRead(source.path, source.format, options, {})


def residence(
    stage: SlicerStage,
    read: FilesRead | None,
    validity: Validity,
    home: str,
    application: str,
    spark: SparkSession,
    rejects: str | None = None,
) -> Residence | None:
    """None: the stage needs a query of Spark. `read`: see `read_by`, `rejects`: see `TextReading`."""
    output = stage.output
    if not isinstance(output, CategoryOutput) or output.time is None:
        return None
    if read is not None and _reads_paths(stage, read):
        return None
    category = Category.open(home, output.category)
    text = None
    if read is not None and read.format in FORMATS:
        place = _local_place(read)
        text = text_reading(spark, stage, read, place, rejects) if place is not None else None
        found = (text.place, text.format.schema) if text is not None else None
    else:
        found = _from_category(stage, home) if read is None else _from_files(read, category)
    if found is None:
        return None
    place, stored = found
    if stage.inputs:
        slice_ = short_way(stage, stored, category, validity, ansi=is_ansi(spark), utc=is_utc(spark))
    else:
        assert read is not None
        slice_ = direct_slice(stored, category, read.columns, output.keys, output.time, validity)
    if slice_ is None:
        return None
    return Residence(stage, Slicer(application, stage.name, place, stage.reading), slice_, read, text)


def _reads_paths(stage: SlicerStage, read: FilesRead) -> bool:
    """A column is in the names of folders: Spark reads it there."""
    if _local_place(read) is None:
        return False
    try:
        parts = partition_names(read.place, input_files(read.place, read.format))
    except MissingInput:
        return False
    columns = {column.name for table in stage.inputs for column in table.columns} | set(read.columns.values())
    return any(name in columns for name in parts)


def _from_files(read: FilesRead, category: Category) -> tuple[str, pa.Schema] | None:
    place = _local_place(read)
    if read.format != "parquet" or not read.options.keys() <= PACE or place is None:
        return None
    return place, _schema(place, category, read.columns)


def _local_place(read: FilesRead) -> str | None:
    if not is_local(read.place) or has_magic(read.place):
        return None
    return os.path.abspath(local_path(read.place))


def _from_category(stage: SlicerStage, home: str) -> tuple[str, pa.Schema] | None:
    source = stage.inputs[0].source if len(stage.inputs) == 1 else None
    if not isinstance(source, ScribeSource):
        return None
    return source.category, Category.open(home, source.category).schema


def _schema(place: str, category: Category, columns: dict[str, str]) -> pa.Schema:
    """For the files: that of all together, or if there is none yet what the category expects of them, as far
    as that is beyond doubt. `columns`: those that Spark reads into a DataFrame, in the types of the first."""
    try:
        files = input_files(place, "parquet")
        if not columns:
            return whole_schema(files)
        first = parquet_schema(files[0])
        return first if set(columns.values()) <= set(first.names) else check_files(files, [*columns.values()])
    except MissingInput:
        types = {source: pa.timestamp("us", "UTC") for source in columns.values()}
        names = set(category.schema.names)
        types |= {
            source: category.schema.field(name).type for name, source in columns.items() if name in names
        }
        plain = all(any(is_(kind) for is_ in _PLAIN) for kind in types.values())
        return pa.schema(types if plain else {})
