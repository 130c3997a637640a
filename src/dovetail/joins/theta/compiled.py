"""Conditions in machine code, and columns as it reads them: 64-bit words.

`predicates/source.py` has what a condition means; here is what surrounds it.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.joins.theta.kernels.condition import Pairs, compiled, source_of
from dovetail.model.share import Side
from dovetail.model.theta import Expression
from dovetail.predicates.source import Kind, Operands, SourceWriter


class Words(NamedTuple):
    """A column as 64-bit words: int64, or float64 for what is no whole number. Booleans are 0 and 1."""

    values: NDArray[np.int64] | NDArray[np.float64]
    there: NDArray[np.bool_] | None

    def at(self, places: NDArray[np.int64]) -> Words:
        return Words(self.values[places], None if self.there is None else self.there[places])


def kind_of(type_: pa.DataType) -> Kind | None:
    """What a column is to the compiler, as conditions see it (`condition.comparable`)."""
    if pa.types.is_int64(type_):
        return "int"
    if pa.types.is_float64(type_):
        return "double"
    if pa.types.is_float32(type_):
        return "float"
    return "bool" if pa.types.is_boolean(type_) else None


def words(column: pa.Array) -> Words:
    there = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if column.null_count:
        column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    kind = pa.float64() if pa.types.is_floating(column.type) else pa.int64()
    return Words(column.cast(kind).to_numpy(zero_copy_only=False), there)


@functools.lru_cache(maxsize=64)
def pairs_kernel(
    conditions: tuple[Expression, ...], operands: Operands, probing: Side, dimensions: int, nullable: bool
) -> Pairs:
    """`pairs(starts, stops, lows, highs, values, *columns)`: the columns of the operands in their order, each
    followed by its flags if `nullable`. Those of the probing side have an element a probe, the others one a
    position."""
    writer = SourceWriter(operands, nullable)
    verdict = writer.conjunction(conditions)
    probe, block, row, arguments = [], [], [], []
    for number, (operand, _) in enumerate(operands):
        for name in (f"c{number}", f"t{number}") if nullable else (f"c{number}",):
            arguments.append(f"{name}s")
            if operand.side == probing:
                probe.append(f"{name} = {name}s[i]")
            else:
                block.append(f"{name}b = {name}s[begin : begin + count]")
                row.append(f"{name} = {name}b[j]")
    source = source_of(dimensions, probe, block, row, writer.lines, verdict, arguments)
    return compiled(source, tuple(writer.constants))
