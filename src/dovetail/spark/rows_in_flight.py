"""Which rows from before a change go to a join that begins afresh, where that depends on how the previous
join has answered them.

Law: a row that has had an answer does not get another one. Rows of an input have no numbers, so those of the
old side are recognized by what the old join went by: their keys or operands, and their time. Rows that are
alike in these have had the same fate."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dovetail.changes.flat import flat
from dovetail.engine.waiting_rows import waiting_rows
from dovetail.joins.rows.gather import Rows
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.plan.physical import CategoryOutput, SlicerStage
from dovetail.slicing.placement import TIME
from dovetail.spark.building import Wanted

_OPERAND = "_on_"


def with_a_key(before: SlicerStage) -> Wanted:
    """Not those that were without a key: a join answers them at once."""
    keys, seen = _output(before).keys, _seen(before)
    columns = flat(before).columns
    no_key = " OR ".join(f"({columns[key]}) IS NULL" for key in keys)
    return lambda rows: rows.where(f"NOT ({seen} AND ({no_key}))") if keys else rows


def without_an_answer(spark: SparkSession, before: SlicerStage, join: JoinConfig, at: JoinOffset) -> Wanted:
    """Left rows that the join before has open and has not answered, and those that it was not given."""
    columns, seen = flat(before).columns, _seen(before)
    category = Category.open(join.home, join.left)
    rows = Rows(category, at.left_floor, at.left)
    found = rows.at(rows.places(waiting_rows(join, at)))
    known = [*_output(before).keys, *(name for name in columns if name.startswith(_OPERAND))]
    waiting = spark.createDataFrame(
        pa.table({f"_waiting_{n}": found.take(name) for n, name in enumerate([TIME, *known])})
    )
    time = f"unix_micros(CAST(({columns[str(_output(before).time)]}) AS TIMESTAMP))"
    same = " AND ".join(
        f"({sql}) <=> _waiting_{n}" for n, sql in enumerate([time, *(columns[name] for name in known)])
    )

    def wanted(rows: DataFrame) -> DataFrame:
        given = rows.where(seen).join(waiting, F.expr(same), "left_semi")
        return given.unionByName(rows.where(f"NOT ({seen})"))

    return wanted


def _seen(before: SlicerStage) -> str:
    """The condition under which a row of the input was given to the join."""
    conditions = flat(before).conditions
    return f"({' AND '.join(f'coalesce({one}, false)' for one in conditions)})" if conditions else "true"


def _output(stage: SlicerStage) -> CategoryOutput:
    assert isinstance(stage.output, CategoryOutput)
    return stage.output
