"""The query of an aggregate, run as ordinary SQL over the rows of a micro-batch.

Why that is right: all rows of a window come in one micro-batch (`engine/window_step.py`), so a batch
aggregation of it is the aggregation of the window. So every aggregate function that Spark has can be used,
also those that it refuses in a stream (COUNT(DISTINCT), percentiles, ...), and there is no state to keep.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, StructField, StructType, TimestampType

from dovetail.plan.aggregates import WINDOW_CLOSED
from dovetail.plan.dialect import quoted
from dovetail.plan.physical import WindowStage
from dovetail.plan.qualified import without_qualify

START, END, CLOSED = "_window_start", "_window_end", "_window_closed"


@dataclass(frozen=True)
class Aggregation:
    stage: WindowStage
    schema: StructType  # of the rows of closing windows

    def over(self, rows: DataFrame) -> DataFrame:
        """The result of the rows of whole windows."""
        session = rows.sparkSession  # a stream has a session of its own, with its own temporary views
        bounds = f"named_struct('start', {START}, 'end', {END}) AS {quoted(self.stage.window_name)}"
        payload = [quoted(column.name) for column in self.stage.columns]
        if self.stage.settings.early_us is not None:
            payload.insert(0, f"{CLOSED} AS {WINDOW_CLOSED}")
        rows.selectExpr(bounds, *payload).createOrReplaceTempView(quoted(self.stage.source_name))
        return session.sql(without_qualify(self.stage.select))

    def of_nothing(self, spark: SparkSession) -> DataFrame:
        """No rows, in the columns of the result: Spark's analyzer has seen the query."""
        return self.over(spark.createDataFrame([], self.schema))


def source_schema(stage: WindowStage, rows: StructType) -> StructType:
    """The columns of a source of closing windows, over a category of rows."""
    made = StructType([StructField(name, TimestampType(), True) for name in (START, END)])
    if stage.settings.early_us is not None:
        made.add(StructField(CLOSED, BooleanType(), True))
    for column in stage.columns:
        made.add(StructField(column.name, rows[column.name].dataType, True))
    return made
