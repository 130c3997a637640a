"""Whether a slicer's rows can bypass the JVM: if its columns are picked, renamed, or computed in a way that
Arrow computes exactly as Spark does."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from dovetail.log.category import Category
from dovetail.model.validity import Validity
from dovetail.plan.evaluate import evaluation_of
from dovetail.plan.physical import CategoryOutput, InputTable, SlicerStage
from dovetail.plan.projection import plain_projection
from dovetail.slicing.direct import DirectSlice, as_read, computed_slice, direct_slice
from dovetail.spark.arrow_types import arrow_type
from dovetail.spark.session import TIME_ZONE


def short_way(
    stage: SlicerStage,
    stored: pa.Schema,
    category: Category,
    validity: Validity,
    *,
    ansi: bool,
    utc: bool = True,
) -> DirectSlice | None:
    """For a stage of PQL with one input, whose rows are stored in these columns."""
    output = stage.output
    if not isinstance(output, CategoryOutput) or output.time is None or len(stage.inputs) != 1:
        return None
    sliced = output.keys, output.time, validity
    projection = plain_projection(stage)
    if projection is not None:
        return direct_slice(stored, category, projection, *sliced)
    computed = evaluation_of(stage, _as_declared(stored, stage.inputs[0]), ansi=ansi, utc=utc)
    return None if computed is None else computed_slice(stored, category, computed, *sliced)


def is_ansi(spark: SparkSession) -> bool:
    """Whether an overflow is an error in this session, or a null or a wrong number."""
    return str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"


def is_utc(spark: SparkSession) -> bool:
    return str(spark.conf.get(TIME_ZONE)) == "UTC"


def _as_declared(stored: pa.Schema, table: InputTable) -> pa.Schema:
    """The columns of a table that are stored in the declared type, or have none declared. Of the others Spark
    makes something else when it reads them."""
    declared = {column.name: column.type for column in table.columns}
    found = [field for field in as_read(stored) if field.name in declared]
    return pa.schema([field for field in found if _is_declared(field.type, declared[field.name])])


def _is_declared(kind: pa.DataType, declared: str | None) -> bool:
    return declared is None or arrow_type(declared) == kind
