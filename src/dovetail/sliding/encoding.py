"""Rows as messages: how the columns of a predicate become keys, boxes, cells and values.

Law: two rows for which the predicate holds are each in the other's box and range of cells: boxes find
candidates, and the conditions as they are written decide. Only boxes over whole numbers that cannot leave
64 bits are exact, and need no second look. A row with a null or NaN where the predicate looks is *blank*: it
meets nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.errors import InputError, SettingError
from dovetail.model.sliding import Access, Predicate
from dovetail.model.theta import Band, operands_in
from dovetail.predicates.bands import has_double, largest_safe, whole_bound
from dovetail.predicates.source import Operands
from dovetail.sliding.kernels import layout as words
from dovetail.sliding.kernels.encode import NO_CELL, put_floats, put_integers
from dovetail.sliding.kernels.subwindow import CELLS, RUNS, SCAN
from dovetail.sliding.written import residual_of

Columns = dict[str, npt.NDArray[np.generic]]
_NARROW = 1e-3
_MOST = 2**63 - 1
_MOST_BANDS = 2  # of a grid; each doubles the cells that a probe looks into, or more
_LIKE: dict[int, npt.NDArray[Any]] = {32: np.empty(0, np.float32), 64: np.empty(0, np.float64)}
_ACCESS = {"scan": SCAN, "cells": CELLS, "runs": RUNS}


@dataclass(frozen=True)
class _Dimension:
    """A band, and how its numbers become keys. `exact`: the box decides; if not, the conditions as written
    do."""

    band: Band
    integer: bool
    bits: int  # of its key
    exact: bool

    def column(self, side: str) -> str:
        return (self.band.left if side == "left" else self.band.right)[0].column

    @cached_property
    def equality(self) -> bool:
        return self._width == 0 and self.band.low is not None and Fraction(self.band.low.value) == 0

    @property
    def two_sided(self) -> bool:
        """Both ends are bounded, and not to a single value."""
        return self._width is not None and self._width > 0

    @cached_property
    def _width(self) -> Fraction | None:
        low, high = self.band.low, self.band.high
        if low is None or high is None:
            return None
        width = Fraction(high.value) - Fraction(low.value)
        return None if width == 0 and (low.strict or high.strict) else width

    @cached_property
    def bounds(self) -> dict[str, tuple[int | float | None, int | float | None]]:
        """For each side: what is added to a value of it to get the lowest and highest of the other's."""
        low: int | float | None
        high: int | float | None
        if self.integer:  # beyond 64 bits a bound says nothing, or nearly nothing
            low, high = whole_bound(self.band.low, up=True), whole_bound(self.band.high, up=False)
            low = None if low is None or low < -_MOST else min(low, _MOST)
            high = None if high is None or high > _MOST else max(high, -_MOST)
        else:
            low, high = (
                None if bound is None else float(Fraction(bound.value))
                for bound in (self.band.low, self.band.high)
            )
        # right is between left - high and left - low
        left = None if high is None else -high, None if low is None else -low
        return {"left": left, "right": (low, high)}

    @cached_property
    def scale(self) -> float:
        """The size of the constants that the conditions add: what rounding may cost goes by it."""
        bounds = [bound for bound in (self.band.low, self.band.high) if bound is not None]
        return max(float(Fraction(bound.scale)) for bound in bounds)

    @cached_property
    def cell_width(self) -> float:
        """A cell is as wide as the band, so that a box reaches into two or three of them. Whole numbers that
        must be equal are their own cells (0); cells of floats that must be equal are narrow, for numbers of
        the usual size."""
        if self._width is None or self.equality:
            return 0.0 if self.integer else _NARROW
        return float(self._width)


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
        self.dimensions = tuple(map(self._dimension, predicate.bands))
        self.written = (
            *(spelled for one in self.dimensions if not one.exact for spelled in one.band.spelled),
            *predicate.rest,
        )
        """Conditions that are checked as they are written, of the candidates that boxes leave."""
        self.operands = self._operands()
        self.key_kind: type[np.unsignedinteger] = (
            np.uint32 if all(dimension.bits == 32 for dimension in self.dimensions) else np.uint64
        )
        self.access = self._access(access)
        values = max(map(len, self.values.values()))
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

    def _dimension(self, band: Band) -> _Dimension:
        kinds = [self._dtype("left", band.left[0].column), self._dtype("right", band.right[0].column)]
        small = all(kind.itemsize < 4 or kind in (np.int32, np.float32) for kind in kinds)
        if all(kind.kind in "iub" for kind in kinds) and not has_double(band):
            most = largest_safe(band)
            safe = most is None or (all(kind.itemsize < 8 for kind in kinds) and most >= 2**32)
            return _Dimension(band, True, 32 if small else 64, safe)
        floats = all(kind.kind == "f" for kind in kinds)
        near = all(abs(Fraction(b.value)) < 10**30 for b in (band.low, band.high) if b is not None)
        return _Dimension(band, False, 32 if small and floats and near else 64, False)

    def _operands(self) -> Operands:
        """The columns that the written conditions read, in the order in which they travel."""
        found = dict.fromkeys(operand for condition in self.written for operand in operands_in(condition))
        return tuple(
            (operand, "double" if self._dtype(operand.side, operand.column).kind == "f" else "int")
            for operand in found
        )

    @cached_property
    def grid(self) -> tuple[_Dimension, ...]:
        """The dimensions that a cell is made of: equalities, and the first bands."""
        if self.access != CELLS:
            return ()
        equal = [dimension for dimension in self.dimensions if dimension.equality]
        bands = [dimension for dimension in self.dimensions if dimension.two_sided]
        return (*equal, *bands[:_MOST_BANDS])

    def _access(self, asked: Access) -> int:
        indexable = any(one.equality or one.two_sided for one in self.dimensions)
        if asked != "auto" and asked not in tuple(_ACCESS):
            raise SettingError(
                f"there is no access {asked!r}",
                where="access",
                expected=f"auto, {', '.join(_ACCESS)}",
                hint="leave it out",
            )
        if asked == "cells" and not indexable:
            raise SettingError(
                "cells need an equality or a band",
                where=f"access = {asked!r}",
                expected="a range with both ends",
                hint="leave access out, or take runs or scan",
            )
        if asked == "runs" and not self.dimensions:
            raise SettingError(
                "sorted runs need a range",
                where=f"access = {asked!r}",
                expected="a comparison of a left with a right column",
                hint="leave access out, or take scan",
            )
        if asked != "auto":
            return _ACCESS[asked]
        if indexable:
            return CELLS
        return RUNS if self.dimensions else SCAN

    @cached_property
    def values(self) -> dict[str, list[tuple[str, str]]]:
        """For each side: the columns that travel as values, and as what. Every push asks, so it is worked out
        once."""
        return {
            side: [
                (operand.column, "f8" if kind == "double" else "i8")
                for operand, kind in self.operands
                if operand.side == side
            ]
            for side in ("left", "right")
        }

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """For each side: the columns that the predicate reads."""
        return {
            side: list(dict.fromkeys([*(one.column(side) for one in self.dimensions), *dict(values)]))
            for side, values in self.values.items()
        }

    @cached_property
    def residual(self) -> Any:
        """The address of what checks the written conditions; 0 if there are none."""
        if not self.written:
            return 0
        sides = [operand.side for operand, _ in self.operands]
        places = tuple(sides[:number].count(side) for number, side in enumerate(sides))
        return residual_of(self.written, self.operands, places).address

    def messages(
        self, side: str, columns: Columns, nulls: npt.NDArray[np.bool_] | None, rows: int
    ) -> npt.NDArray[np.int64]:
        """Messages with all but row number, time and what was seen before: that is the driver's to say."""
        made = np.zeros((rows, self.layout.words), np.int64)
        made[:, words.KIND] = words.R if side == "left" else words.S
        for name in self.columns[side]:
            _check_bits(columns[name], side, name)
        if nulls is not None:
            made[nulls, words.FLAGS] = words.BLANK
        for number, dimension in enumerate(self.dimensions):
            self._put_dimension(made, side, number, dimension, columns)
        if not self.dimensions:
            made[:, self.layout.widths_at] = np.iinfo(np.int64).max
        for number, (name, kind) in enumerate(self.values[side]):
            value = np.ascontiguousarray(columns[name], kind)
            if kind == "f8":
                made[np.isnan(value), words.FLAGS] |= words.BLANK
            made[:, self.layout.values_at + number] = value.view(np.int64)
        return made

    def _put_dimension(
        self, made: npt.NDArray[np.int64], side: str, number: int, dimension: _Dimension, columns: Columns
    ) -> None:
        name = dimension.column(side)
        low, high = dimension.bounds[side]
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
                np.ascontiguousarray(columns[name], np.int64),
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
                dimension.scale,
                _LIKE[dimension.bits],
                dimension.cell_width,
            )


def _check_bits(values: npt.NDArray[np.generic], side: str, name: str) -> None:
    if values.dtype == np.uint64 and values.size and (most := int(values.max())) > _MOST:
        raise InputError(
            f"{side}.{name} has a value beyond 63 bits",
            where=f"{most}",
            expected=f"at most {_MOST}: predicates compute with signed numbers of 64 bits",
            hint="subtract a constant, or send it as a float",
        )
