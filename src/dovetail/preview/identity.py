"""The identity of a joined row: columns that it carries beside those of the query.

A row of the result belongs to its left row, or if it has none to its right row. It is known by that row's
event time and keys. So two versions can be compared: the same left row with another partner is a changed row,
not one lost and one gained."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from dovetail.model.join_config import OutputColumn
from dovetail.slicing.placement import TIME

_PREFIX = "_whose_"
TIME_OF, ALONE = f"{_PREFIX}time", f"{_PREFIX}right"
"""The event time of the row that it belongs to, and whether that is a right row."""


def carried(keys: Sequence[str]) -> tuple[OutputColumn, ...]:
    """What a join has to put out for `with_identity`."""
    names = [TIME, *keys]
    return tuple(
        OutputColumn(f"{_PREFIX}{side}_{number}", side, name)
        for side in ("left", "right")
        for number, name in enumerate(names)
    )


def with_identity(rows: pa.Table, keys: int) -> pa.Table:
    """The columns of both sides as those of the row it belongs to."""
    left = [rows.column(f"{_PREFIX}left_{number}") for number in range(keys + 1)]
    right = [rows.column(f"{_PREFIX}right_{number}") for number in range(keys + 1)]
    alone = left[0].is_null()
    whose = [pc.if_else(alone, other, own) for own, other in zip(left, right, strict=True)]
    kept = rows.select([name for name in rows.schema.names if not name.startswith(_PREFIX)])
    kept = kept.append_column(TIME_OF, whose[0]).append_column(ALONE, alone)
    for number, values in enumerate(whose[1:]):
        kept = kept.append_column(f"{_PREFIX}key_{number}", values)
    return kept


def identity(schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if name.startswith(_PREFIX)]


def columns(schema: pa.Schema) -> list[str]:
    """Those of the query."""
    return [name for name in schema.names if not name.startswith(_PREFIX)]
