"""What a stage computes from the rows that it reads, where that needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from dovetail.plan.evaluate import evaluation_of
from dovetail.plan.physical import JoinStage, Plan, SlicerStage
from dovetail.plan.projection import plain_projection
from dovetail.preview.identity import columns, identity
from dovetail.slicing.evaluation import TypedColumn

Select = Callable[[pa.Table], pa.Table]


def select_of(stage: SlicerStage | JoinStage, given: pa.Schema, plan: Plan | None = None) -> Select | None:
    """For rows of these columns; whose they are is carried along. None: only Spark can compute it."""
    whose = identity(given)
    names = plain_projection(stage)
    if names is not None:
        return lambda rows: rows.select([*names.values(), *whose]).rename_columns([*names, *whose])
    known_columns = pa.schema([given.field(name) for name in columns(given)])
    computed = evaluation_of(
        stage,
        known_columns,
        utc=plan is None or plan.time_zone == "UTC",
        functions=() if plan is None else plan.functions,
    )
    if computed is None:
        return None
    known = tuple((name, TypedColumn(name, given.field(name).type)) for name in whose)
    carrying = replace(computed, columns=(*computed.columns, *known))

    def select(rows: pa.Table) -> pa.Table:
        made = [carrying(batch) for batch in rows.combine_chunks().to_batches()]
        return pa.Table.from_batches(made, carrying.schema)

    return select
