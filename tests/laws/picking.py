"""An interval join that picks by value, with columns beside its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dovetail.joins.emitted import Int64s
from dovetail.joins.state import JoinState
from dovetail.joins.theta.condition import comparable, values
from dovetail.joins.worth import ranks
from dovetail.model.interval import IntervalSpec
from dovetail.model.theta import Operand, Operation
from laws.algorithms import Hashing, IntervalStep
from streams import Mode, Window

LEFT, RIGHT = Operand("left", "_on_0"), Operand("right", "_on_0")
DISTANCE = Operation("abs", (Operation("-", (RIGHT, LEFT)),))


class Picking(IntervalStep):
    """`columns` has a value for every row, by side and id."""

    def __init__(
        self, spec: IntervalSpec, hashing: Hashing, columns: tuple[Mapping[int, Any], ...], kind: pa.DataType
    ) -> None:
        super().__init__(Window(spec.before_us, spec.after_us), Mode("left", "all", "first"), hashing)
        self.state = JoinState.empty(spec)
        self.spec, self.columns, self.type = spec, columns, kind

    def worth(self, left: Int64s, right: Int64s) -> Int64s:
        taken = [
            {"_on_0": comparable(pa.array([column[row] for row in rows.tolist()], self.type))}
            for column, rows in zip(self.columns, (left, right), strict=True)
        ]
        assert self.spec.picked_by is not None
        found = values(self.spec.picked_by, taken[0], taken[1], len(left))
        return ranks(found, largest=self.spec.pick == "max")
