"""Rows as messages: how the columns of a predicate become keys, boxes, cells and values.

Law: two rows whose text predicate holds are each in the other's box and cell range; a pair that boxes, ranges
and rest let through is one for which it holds. A row with a null or NaN where the predicate looks is *blank*:
it meets nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.errors import InputError, SettingError
from dovetail.model.sliding import Access, Predicate, Range
from dovetail.sliding.expression import columns_of
from dovetail.sliding.kernels import layout as words
from dovetail.sliding.kernels import residual
from dovetail.sliding.kernels.encode import NO_CELL, put_floats, put_integers
from dovetail.sliding.kernels.probe import Ranges
from dovetail.sliding.kernels.subwindow import CELLS, RUNS, SCAN

Columns = dict[str, npt.NDArray[np.generic]]
_NARROW = 1e-3
_MOST_BANDS = 2  # of a grid; each doubles the cells that a probe looks into, or more
_LIKE: dict[int, npt.NDArray[Any]] = {32: np.empty(0, np.float32), 64: np.empty(0, np.float64)}
_ACCESS = {"scan": SCAN, "cells": CELLS, "runs": RUNS}


@dataclass(frozen=True)
class _Dimension:
    range: Range
    integer: bool
    bits: int  # of its key

    @property
    def low(self) -> float | int | None:
        low = self.range.low
        if not self.integer or low is None:
            return low
        whole = int(np.ceil(low))
        return whole + 1 if self.range.low_open and whole == low else whole

    @property
    def high(self) -> float | int | None:
        high = self.range.high
        if not self.integer or high is None:
            return high
        whole = int(np.floor(high))
        return whole - 1 if self.range.high_open and whole == high else whole

    @property
    def cell_width(self) -> float:
        """A cell is as wide as the band, so that a box reaches into two or three of them. Whole numbers that
        must be equal are their own cells (0); floating-point ones lie in cells that are narrow, if they are
        of the size that people use."""
        one = self.range
        if one.low is None or one.high is None:
            return 0.0
        if one.equality:
            return 0.0 if self.integer else _NARROW
        return float(one.high) - float(one.low)


class Encoding:
    """How rows of two schemas travel for one predicate."""

    def __init__(
        self,
        predicate: Predicate,
        left: dict[str, np.dtype[Any]],
        right: dict[str, np.dtype[Any]],
        access: Access = "auto",
    ) -> None:
        self.predicate = predicate
        self._dtypes = {"left": left, "right": right}
        self.dimensions = tuple(self._dimension(one) for one in predicate.ranges)
        self.rest_columns = columns_of(predicate.rest) if predicate.rest else []
        for column in self.rest_columns:
            self._dtype(column.side, column.name)
        self.key_kind: type[np.unsignedinteger] = (
            np.uint32 if all(dimension.bits == 32 for dimension in self.dimensions) else np.uint64
        )
        self.access = self._access(access)
        values = max(len(self.values("left")), len(self.values("right")))
        self.layout = words.layout(max(len(self.dimensions), 1), len(self.grid), values)

    def _dtype(self, side: str, name: str) -> np.dtype[Any]:
        dtypes = self._dtypes[side]
        if name not in dtypes:
            raise SettingError(
                f"the predicate looks at {side}.{name}, which is not there",
                where=f"the {side} stream",
                expected=f"one of {', '.join(sorted(dtypes))}",
                hint="columns are called as in the batches that are pushed",
            )
        dtype = dtypes[name]
        if dtype.kind not in "iufb":
            raise SettingError(
                f"{side}.{name} is of type {dtype}, which a predicate cannot compare",
                where=f"the {side} stream",
                expected="whole numbers, floating-point numbers, booleans or times as numbers",
                hint="encode it as a number first, for example by a dictionary",
            )
        return dtype

    def _dimension(self, one: Range) -> _Dimension:
        kinds = [self._dtype("left", one.left), self._dtype("right", one.right)]
        bounds = [bound for bound in (one.low, one.high) if bound is not None]
        small = all(kind.itemsize < 4 or kind in (np.int32, np.float32) for kind in kinds)
        if all(kind.kind in "iub" for kind in kinds):
            return _Dimension(one, True, 32 if small else 64)
        same = all(kind.kind == "f" for kind in kinds) and all(abs(bound) < 1e30 for bound in bounds)
        return _Dimension(one, False, 32 if small and same else 64)

    @cached_property
    def grid(self) -> tuple[_Dimension, ...]:
        """The dimensions that a cell is made of: equalities, and the first bands."""
        if self.access != CELLS:
            return ()
        equal = [dimension for dimension in self.dimensions if dimension.range.equality]
        bands = [dimension for dimension in self.dimensions if dimension.range.band]
        return (*equal, *bands[:_MOST_BANDS])

    def _access(self, asked: Access) -> int:
        indexable = any(one.equality or one.band for one in self.predicate.ranges)
        if asked == "cells" and not indexable:
            raise SettingError(
                "cells need an equality or a band",
                where=f"access = {asked!r}",
                expected="a range with both ends",
                hint="leave access to itself, or take runs or scan",
            )
        if asked == "runs" and not self.predicate.ranges:
            raise SettingError(
                "sorted runs need a range",
                where=f"access = {asked!r}",
                expected="a comparison of a left with a right column",
                hint="leave access to itself, or take scan",
            )
        if asked != "auto":
            return _ACCESS[asked]
        if indexable:
            return CELLS
        return RUNS if self.predicate.ranges else SCAN

    def values(self, side: str) -> list[tuple[str, str]]:
        """The columns that travel as values, and as what: those of floating-point ranges first."""
        ranged = [
            (one.range.left if side == "left" else one.range.right, "f8")
            for one in self.dimensions
            if not one.integer
        ]
        rest = [
            (column.name, "f8" if self._dtype(side, column.name).kind == "f" else "i8")
            for column in self.rest_columns
            if column.side == side
        ]
        return [*ranged, *rest]

    def columns(self, side: str) -> list[str]:
        """The columns of that side that the predicate looks at."""
        ranged = [one.left if side == "left" else one.right for one in self.predicate.ranges]
        return list(dict.fromkeys([*ranged, *[c.name for c in self.rest_columns if c.side == side]]))

    @cached_property
    def ranges(self) -> Ranges:
        floats = [one.range for one in self.dimensions if not one.integer]
        return Ranges(
            np.array([-np.inf if one.low is None else one.low for one in floats], np.float64),
            np.array([np.inf if one.high is None else one.high for one in floats], np.float64),
            np.array([one.low_open for one in floats], np.bool_),
            np.array([one.high_open for one in floats], np.bool_),
        )

    @cached_property
    def residual(self) -> int:
        """The address of what checks the rest; 0 if there is none."""
        if self.predicate.rest is None:
            return 0
        floats = sum(not one.integer for one in self.dimensions)
        columns = []
        for side in ("left", "right"):
            of_side = [column for column in self.rest_columns if column.side == side]
            kinds = self.values(side)[floats:]
            columns += [
                (side, column.name, kind, floats + n)
                for n, (column, (_, kind)) in enumerate(zip(of_side, kinds, strict=True))
            ]
        return residual.compiled(self.predicate.rest, tuple(columns)).address

    def messages(
        self, side: str, columns: Columns, nulls: npt.NDArray[np.bool_] | None, rows: int
    ) -> npt.NDArray[np.int64]:
        """Messages with all but row number, time and what was seen before: that is the driver's to say."""
        made = np.zeros((rows, self.layout.words), np.int64)
        made[:, words.KIND] = words.R if side == "left" else words.S
        if nulls is not None:
            made[nulls, words.FLAGS] = words.BLANK
        for number, dimension in enumerate(self.dimensions):
            self._put_dimension(made, side, number, dimension, columns)
        if not self.dimensions:
            made[:, self.layout.widths_at] = np.iinfo(np.int64).max
        for number, (name, kind) in enumerate(self.values(side)):
            value = np.ascontiguousarray(columns[name], kind)
            if kind == "f8":
                made[np.isnan(value), words.FLAGS] |= words.BLANK
            made[:, self.layout.values_at + number] = value.view(np.int64)
        return made

    def _put_dimension(
        self, made: npt.NDArray[np.int64], side: str, number: int, dimension: _Dimension, columns: Columns
    ) -> None:
        name = dimension.range.left if side == "left" else dimension.range.right
        low, high = dimension.low, dimension.high
        if side == "left":  # right lies between left - high and left - low
            low, high = (None if high is None else -high), (None if low is None else -low)
        layout = self.layout
        cell = self.grid.index(dimension) if dimension in self.grid else None
        at = (
            layout.keys_at + number,
            layout.lows_at + number,
            layout.widths_at + number,
            *(
                (layout.cells_at + cell, layout.cells_low_at + cell, layout.cells_high_at + cell)
                if cell is not None
                else (NO_CELL, NO_CELL, NO_CELL)
            ),
        )
        if dimension.integer:
            put_integers(
                made,
                _whole(columns[name], side, name),
                at,
                (low is not None, high is not None),
                int(low or 0),
                int(high or 0),
                dimension.bits,
                dimension.cell_width,
            )
        else:
            put_floats(
                made,
                np.ascontiguousarray(columns[name], np.float64),
                at,
                -np.inf if low is None else float(low),
                np.inf if high is None else float(high),
                _LIKE[dimension.bits],
                dimension.cell_width,
            )


def _whole(values: npt.NDArray[np.generic], side: str, name: str) -> npt.NDArray[np.int64]:
    if values.dtype == np.uint64 and values.size and values.max() > np.iinfo(np.int64).max:
        raise InputError(
            f"{side}.{name} has a value beyond 63 bits",
            where=f"{values.max()}",
            expected="at most 9223372036854775807",
            hint="subtract a constant, or send it as a floating-point number",
        )
    return np.ascontiguousarray(values, np.int64)
