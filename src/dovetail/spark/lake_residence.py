"""A stage that takes the rows that are appended to a lake's table into a category. It is no query of Spark: a
thread of the run follows the table's versions (`lakes/lake_intake.py`), on a cluster that of the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from dovetail.connectors.lake import ON_CHANGE, START
from dovetail.connectors.lake_kinds import open_lake
from dovetail.connectors.lookup_table import missing
from dovetail.lakes.lake_intake import LakeIntake, LakeReading
from dovetail.log.category import Category
from dovetail.plan.physical import CategoryOutput, InputTable, LakeSource, SlicerStage
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.resident import ResidentSlicer


@dataclass(frozen=True)
class LakeResidence:
    stage: SlicerStage
    table: InputTable
    source: LakeSource
    category: str

    def nothing(self, spark: SparkSession) -> DataFrame:
        """No rows, in the columns of the table. Also where it is found out, before anything starts, that the
        library is missing, a secret is not set, or the table lacks a column."""
        lake = open_lake(self.source.lake, self.source.options)
        about = lake.about()
        names = [column.name for column in self.table.columns]
        if (error := missing(lake.place, names, about.schema.names)) is not None:
            error.hint = "correct the column list of CREATE INPUT TABLE"
            raise error
        schema = StructType()
        for column in self.table.columns:
            schema.add(column.name, DataType.fromDDL(column.type or "string"))
        return spark.createDataFrame([], schema)

    def slicing(self, home: str, *, finite: bool, **how: Any) -> ResidentSlicer:
        """To be started. `how`: see `ResidentSlicer`."""
        category = Category.open(home, self.category)
        application = self.category.removesuffix(f".{self.stage.name}")
        slicer = Slicer(application, self.stage.name, self.source.place)
        reading = LakeReading(
            str(self.source.get(START.name)), self.source.get(ON_CHANGE.name) == "skip", finite
        )
        lake = open_lake(self.source.lake, self.source.options)
        return ResidentSlicer(
            category, slicer, lambda: LakeIntake(category, slicer, lake, reading), finite=finite, **how
        )


def appended_to(stage: SlicerStage) -> LakeResidence | None:
    """None: the stage reads no lake."""
    for table in stage.inputs:
        if isinstance(table.source, LakeSource):
            assert isinstance(stage.output, CategoryOutput)
            assert len(stage.inputs) == 1
            return LakeResidence(stage, table, table.source, stage.output.category)
    return None
