"""Rows of a stage into the category that it writes, in this process, as its slicer or its join would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.model.promise import Promise
from dovetail.model.validity import Validity
from dovetail.plan.physical import CategoryOutput, Plan, Stage, WindowStage
from dovetail.plan.shared import joins_of, reserve
from dovetail.slicing.placement import HASH, TIME
from dovetail.slicing.sides import Written, append_parts, write_side
from dovetail.slicing.write_rows import bucket_of, sliced_batch, time_of


def write_category(
    plan: Plan,
    home: str,
    stage: Stage,
    rows: pa.Table,
    batch: int,
    promise: Promise | None,
    covers: Mapping[str, Any] | None = None,
) -> Category:
    """One commit with these rows, sliced where a join or an aggregate reads them. Done again, it changes
    nothing."""
    output = stage.output
    assert isinstance(output, CategoryOutput)
    if output.time is None:
        category = Category.create(home, output.category, rows.schema, buckets=output.buckets, evolve=True)
        batches = rows.combine_chunks().to_batches()
        written = Written(category.write_segments(batches, bucket_of(None, category.buckets), time_of(None)))
    else:
        kept = [column for column in rows.schema if column.name != output.time]
        hashed = [pa.field(HASH, pa.int64(), False)] if output.keys else []
        schema = pa.schema([*hashed, pa.field(TIME, pa.int64(), False), *kept])
        category = Category.create(
            home, output.category, schema, buckets=output.buckets, role="side", evolve=True
        )
        columns = [(column.name, column.name) for column in kept]
        sliced = sliced_batch(rows, columns, output.keys, output.time, schema)
        reserve(plan, category, None)
        written = write_side(category, [sliced], validity_of(plan, output))
    append_parts(category, [written], f"{plan.application}.{stage.name}", batch, promise, covers)
    return category


def validity_of(plan: Plan, side: CategoryOutput) -> Validity:
    """Which event times the readers of a side believe. Those that share it believe the same ones."""
    aggregates = [stage for stage in plan.stages if isinstance(stage, WindowStage)]
    rows = [stage.settings.validity for stage in aggregates if stage.rows == side.category]
    return [*(join.settings.validity for join in joins_of(plan, side.category)), *rows][0]
