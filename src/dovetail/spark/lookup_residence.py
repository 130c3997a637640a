"""A stage that looks the rows of a category up in a table. It is no query of Spark: a thread of the run holds
the table in memory (`lookup/held_table.py`), on a cluster that of the driver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from dovetail.connectors.lookup_kinds import open_table
from dovetail.engine.idle import SourceWatch
from dovetail.engine.planner import HOST_CLOCK
from dovetail.log.category import Category
from dovetail.lookup.held_table import HeldTable
from dovetail.lookup.lookup_intake import Enriching, LookupIntake
from dovetail.model.promise import Promise
from dovetail.plan.configure import broadcast_of
from dovetail.plan.physical import CategoryOutput, Lookup, ScribeSource, SlicerStage
from dovetail.plan.projection import plain_projection
from dovetail.plan.stage_promises import after_commits, promised_columns
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.resident import ResidentSlicer
from dovetail.spark.arrow_types import spark_schema
from dovetail.spark.inputs import require_columns


@dataclass(frozen=True)
class LookupResidence:
    stage: SlicerStage
    lookup: Lookup
    source: str
    category: str

    def nothing(self, spark: SparkSession, home: str) -> DataFrame:
        """No rows, in the columns that come out. Also where it is found out, before anything starts, that a
        library is missing, a secret is not set, or the table has other columns."""
        source = Category.open(home, self.source)
        require_columns(source, self.stage.inputs[0])
        self._held.now()
        declared = {column.name: column.type for column in self.stage.inputs[0].columns}
        stored = spark_schema(source.schema, f"category {self.source}")
        schema = StructType()
        for name, column in self._picked.items():
            kind = declared[column]
            schema.add(name, stored[column].dataType if kind is None else DataType.fromDDL(kind))
        types = {column.name: str(column.type) for column in self.lookup.columns}
        for found in self.lookup.spec.columns:
            schema.add(found.name, DataType.fromDDL(types[found.column]))
        return spark.createDataFrame([], schema)

    def slicing(self, home: str, *, finite: bool, **how: Any) -> ResidentSlicer:
        """To be started. `how`: see `ResidentSlicer`."""
        category = Category.open(home, self.category)
        application = self.category.removesuffix(f".{self.stage.name}")
        slicer = Slicer(application, self.stage.name, self.source)
        return ResidentSlicer(
            category, slicer, lambda: self._open(category, slicer, finite), finite=finite, **how
        )

    def _open(self, category: Category, slicer: Slicer, finite: bool) -> LookupIntake:
        source = Category.open(category.home, self.source)
        watch = SourceWatch(source, HOST_CLOCK.steady_us)
        promises = bool(promised_columns(self.stage))
        return LookupIntake(
            category,
            slicer,
            Enriching(category, self._picked),
            self._held,
            self.lookup.table,
            finite=finite,
            promise_of=partial(self._promise, category.home) if promises else (lambda commit: None),
            quiet=watch.quiet_us,
        )

    def _promise(self, home: str, commit: int) -> Promise | None:
        return after_commits(self.stage, home, {self.source: commit})

    @property
    def _picked(self) -> dict[str, str]:
        found = plain_projection(self.stage)
        assert found is not None, "the stream's columns are passed on"
        return found

    @cached_property
    def _held(self) -> HeldTable:
        """One for as long as the run: it is read before anything starts, and looked at again when it is
        old."""
        source = self.lookup.source
        return HeldTable(open_table(source.table, source.options), broadcast_of(self.lookup))


def looked_up_by(stage: SlicerStage) -> LookupResidence | None:
    """None: the stage looks nothing up."""
    if stage.lookup is None:
        return None
    source = stage.inputs[0].source
    assert isinstance(source, ScribeSource)
    assert isinstance(stage.output, CategoryOutput)
    return LookupResidence(stage, stage.lookup, source.category, stage.output.category)
