"""Stream time through DataFrames: `dovetail.join` over a DataFrame that came out of `dovetail.join`.

The time columns of a joined DataFrame carry, in Spark's own column metadata, which join they came from. Spark
keeps the metadata of a column that is selected, renamed or filtered, and drops it from one that is computed.
So a join whose time column still has it inherits the time of the join before it.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dovetail.model.promise import PromisedColumn, TimeTerm
from dovetail.plan.application_file import read_application
from dovetail.plan.physical import CategoryOutput, JoinStage, SlicerStage
from dovetail.plan.projection import plain_projection
from dovetail.slicing.placement import TIME

KEY = "dovetail.time"


def with_times(rows: DataFrame, home: str, join: JoinStage, left_time: str, right_time: str) -> DataFrame:
    """The rows of a join, whose time columns say where they came from."""
    times = {("left", left_time), ("right", right_time)}
    sides = {column.name: column.side for column in join.columns if (column.side, column.source) in times}
    picked = plain_projection(join) or {name: name for name in rows.columns}
    named = {output: sides[source] for output, source in picked.items() if source in sides}
    for column, side in named.items():
        said = json.dumps({"home": home, "application": join.name, "side": side})
        rows = rows.withColumn(column, F.col(f"`{column}`").alias(column, metadata={KEY: said}))
    return rows


def promising(stage: SlicerStage, rows: DataFrame, time: str) -> tuple[SlicerStage, JoinStage | None]:
    """The slicer of a DataFrame, and the join that its time column comes from, if any."""
    metadata = rows.schema[time].metadata if time in rows.columns else {}
    if KEY not in metadata:
        return stage, None
    said = json.loads(metadata[KEY])
    (upstream,) = read_application(said["home"], said["application"]).joins
    assert isinstance(stage.output, CategoryOutput)
    promises = (PromisedColumn(TIME, (TimeTerm(said["side"], 0),)),)
    return replace(stage, output=replace(stage.output, promises=promises)), upstream
