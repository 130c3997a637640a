"""What an index over the rows of one side looks like, and what is left to look at pair by pair.

Every bound on a difference is a *dimension*: the window of event time, and the bands. The layout of a join's
index follows from its conditions and the types of the columns alone, so that rows that came in different
steps have the same.

Whole numbers are exact. Of other numbers the index only finds candidates, by bounds that are a little too
wide for what rounding may do; the condition as it was written decides. A row whose value in a band is null
has no place on the number line and matches nothing. NaN is at the end of the line, behind all numbers. Whom
it meets depends on how a band is spelled (`x - y >= 1` holds, `y - x <= -1` does not), but not on the
numbers, so it is found out once by evaluating the band for it.

Whole numbers near the ends of 64 bits may leave them when a condition adds to them. An index cannot know in
which order it does. A run with such a row, and probes among which there is one, are *loose*: they meet all
rows within the time window, and the conditions as written decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.joins.theta.compiled import kind_of
from dovetail.joins.theta.condition import Columns, holds
from dovetail.model.share import Side
from dovetail.model.theta import Band, Bound, Expression, Term, Theta
from dovetail.predicates.bands import DOUBLE_DOUBT, SINGLE_DOUBT, has_double, largest_safe, whole_bound
from dovetail.predicates.kernels.order import all_moved, ordered_bits
from dovetail.predicates.source import Kinds, Operands, can_compile, operands_of

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]
Reach = tuple[int, int]
"""How far before and after a left row's time right rows may lie."""
Types = Mapping[Side, Mapping[str, pa.DataType]]

LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
NAN_PLACE = HIGHEST
"""Above the place of every number, also of infinity."""


def other(side: Side) -> Side:
    return "right" if side == "left" else "left"


class Looked(NamedTuple):
    """Rows to look at: their event times, and the columns that conditions read, as these see them."""

    time: Int64s
    columns: Columns

    def __len__(self) -> int:
        return len(self.time)

    def where(self, places: Int64s) -> Looked:
        taken = pa.array(places)
        return Looked(self.time[places], {name: column.take(taken) for name, column in self.columns.items()})


@dataclass(frozen=True)
class IndexBounds:
    """For each probe that has a place (`which`): what lies within these is a candidate, both ends included. A
    line for each dimension."""

    which: Int64s
    lows: Int64s
    highs: Int64s
    loose: bool
    _orders: dict[int, Int64s] = field(default_factory=dict)

    def order(self, dimension: int) -> Int64s:
        """One in which neighbours look at the same rows; all runs are searched in it."""
        if dimension not in self._orders:
            self._orders[dimension] = np.argsort(self.lows[dimension], kind="stable")
        return self._orders[dimension]


class Meetings(NamedTuple):
    """Whether a band may hold if the stored row's value is NaN and the probe's is not, the other way round,
    or if both are."""

    stored_nan: bool
    probing_nan: bool
    both: bool


class IndexPlaces(NamedTuple):
    """For each row that has a place (`which`): its value in each dimension, a line for each."""

    which: Int64s
    values: Int64s
    loose: bool


@dataclass(frozen=True)
class IndexLayout:
    """`reach` None: times do not count."""

    theta: Theta
    reach: Reach | None
    stored: Side
    types: Types

    @property
    def probing(self) -> Side:
        return other(self.stored)

    @cached_property
    def bands(self) -> tuple[tuple[Band, bool], ...]:
        """Those that are indexed, and whether their numbers are whole."""
        found = []
        for band in self.theta.bands:
            kinds = [self.types[side][term.column] for side in self.types for term in band.terms(side)]
            if all(map(pa.types.is_int64, kinds)) and not has_double(band):
                found.append((band, True))
            elif len(kinds) == 2 and all(map(_is_number, kinds)):  # longer sums may cancel out to anything
                found.append((band, False))
        return tuple(found)

    @cached_property
    def meetings(self) -> dict[Band, Meetings]:
        """For the bands of real numbers: whom a NaN may meet."""
        return {band: self._meetings(band) for band, whole in self.bands if not whole}

    def _meetings(self, band: Band) -> Meetings:
        def held(stored: float, probing: float) -> bool:
            values: dict[Side, float] = {self.stored: stored, self.probing: probing}
            columns = {side: self._one_value(band, side, value) for side, value in values.items()}
            return all(holds(one, columns["left"], columns["right"]).all() for one in band.spelled)

        return Meetings(held(math.nan, 1.0), held(1.0, math.nan), held(math.nan, math.nan))

    def _one_value(self, band: Band, side: Side, value: float) -> Columns:
        """The column of a band's only term on a side. Whole numbers and decimals are never NaN, so what is
        found for them is not used."""
        term = band.terms(side)[0].column
        kind = self.types[side][term]
        return {term: pa.array([value], kind if pa.types.is_floating(kind) else pa.float64())}

    @cached_property
    def rest(self) -> tuple[Expression, ...]:
        """What the index does not decide."""
        exact = [band for band, whole in self.bands if whole]
        spelled = [one for band in self.theta.bands if band not in exact for one in band.spelled]
        return (*self.theta.rest, *spelled)

    @property
    def dimensions(self) -> int:
        return len(self.bands) + (self.reach is not None)

    @cached_property
    def compiled(self) -> tuple[Expression, ...]:
        """What of the rest can be compiled; the other conditions are evaluated by columns."""
        return tuple(condition for condition in self.rest if can_compile(condition, self._kinds))

    @cached_property
    def by_columns(self) -> tuple[Expression, ...]:
        return tuple(condition for condition in self.rest if condition not in self.compiled)

    @cached_property
    def operands(self) -> Operands:
        """What compiled conditions read."""
        return operands_of(self.compiled, self._kinds)

    @cached_property
    def _kinds(self) -> Kinds:
        return {
            side: {name: kind_of(type_) for name, type_ in types.items()}
            for side, types in self.types.items()
        }

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Columns of the stored side that the compiled rest reads: a run has them."""
        return tuple(operand.column for operand, _ in self.operands if operand.side == self.stored)

    def places(self, rows: Looked) -> IndexPlaces:
        values, flags, loose = [rows.time] if self.reach is not None else [], [], False
        for band, whole in self.bands:
            terms = band.terms(self.stored)
            made = _whole_sum(band, terms, rows.columns) if whole else _real_bits(terms[0], rows.columns)
            if made is None:
                loose, made = True, (np.zeros(len(rows), np.int64), None)
            values.append(made[0])
            flags.append(made[1])
        which = _placed([] if loose else flags, len(rows))
        taken = [column[which] for column in values] if len(which) < len(rows) else values
        return IndexPlaces(which, _lines(taken, len(which)), loose)

    def bounds(self, probes: Looked) -> IndexBounds:
        lows, highs, flags, loose = [], [], [], False
        if self.reach is not None:
            before, after = self.reach if self.probing == "left" else self.reach[::-1]
            lows, highs = [all_moved(probes.time, -before)], [all_moved(probes.time, after)]
        for band, whole in self.bands:
            terms = band.terms(self.probing)
            made = (
                self._whole_bounds(band, terms, probes) if whole else self._rough_bounds(band, terms, probes)
            )
            if made is None:
                loose = True
                break
            lows.append(made[0])
            highs.append(made[1])
            flags.append(made[2])
        if loose:
            return self.unbounded(probes)
        which = _placed(flags, len(probes))
        if len(which) < len(probes):
            lows, highs = [low[which] for low in lows], [high[which] for high in highs]
        return IndexBounds(which, _lines(lows, len(which)), _lines(highs, len(which)), loose=False)

    def unbounded(self, probes: Looked) -> IndexBounds:
        """By time alone."""
        timed = IndexLayout(Theta(), self.reach, self.stored, self.types).bounds(probes)
        room = len(self.bands), len(probes)
        lows = np.concatenate([timed.lows, np.full(room, LOWEST, np.int64)])
        highs = np.concatenate([timed.highs, np.full(room, HIGHEST, np.int64)])
        return IndexBounds(timed.which, lows, highs, loose=True)

    def _whole_bounds(
        self, band: Band, terms: tuple[Term, ...], probes: Looked
    ) -> tuple[Int64s, Int64s, Flags | None] | None:
        mine = _whole_sum(band, terms, probes.columns)
        low, high = whole_bound(band.low, up=True), whole_bound(band.high, up=False)
        if mine is None or max(abs(low or 0), abs(high or 0)) > HIGHEST:
            return None
        if self.probing == "left":  # low <= mine - theirs <= high
            low, high = None if high is None else -high, None if low is None else -low
        lows = np.full(len(probes), LOWEST) if low is None else all_moved(mine[0], low)
        highs = np.full(len(probes), HIGHEST) if high is None else all_moved(mine[0], high)
        # Bounds stop at the ends of 64 bits. Where all of a range is beyond one, it is empty and not the end.
        beyond = (mine[0] > HIGHEST - max(low or 0, 0)) | (mine[0] < LOWEST - min(high or 0, 0))
        lows[beyond], highs[beyond] = HIGHEST, LOWEST
        return lows, highs, mine[1]

    def _rough_bounds(
        self, band: Band, terms: tuple[Term, ...], probes: Looked
    ) -> tuple[Int64s, Int64s, Flags | None]:
        kinds = [self.types[side][term.column] for side in self.types for term in band.terms(side)]
        doubt = SINGLE_DOUBT if any(map(pa.types.is_float32, kinds)) else DOUBLE_DOUBT
        own, there, odd = _real(probes.columns[terms[0].column], terms[0].sign)
        meetings = self.meetings[band]
        low, high, sign = (band.high, band.low, -1) if self.probing == "left" else (band.low, band.high, 1)
        with np.errstate(invalid="ignore", over="ignore"):
            lows = np.full(len(probes), -np.inf) if low is None else _edge(own, low, sign, -doubt)
            highs = np.full(len(probes), np.inf) if high is None else _edge(own, high, sign, doubt)
        begins, ends = ordered_bits(lows), ordered_bits(highs)
        if meetings.stored_nan:
            ends[:] = NAN_PLACE
        if odd is not None:
            begins[odd] = LOWEST if meetings.probing_nan else NAN_PLACE
            ends[odd] = NAN_PLACE if meetings.both else NAN_PLACE - 1
        return begins, ends, there


def _lines(columns: list[Int64s], count: int) -> Int64s:
    return np.array(columns, np.int64).reshape(len(columns), count)


def _placed(flags: list[Flags | None], count: int) -> Int64s:
    """Those that have a place in every dimension."""
    there = np.ones(count, np.bool_)
    for flag in flags:
        if flag is not None:
            there &= flag
    return np.flatnonzero(there)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _whole_sum(band: Band, terms: tuple[Term, ...], columns: Columns) -> tuple[Int64s, Flags | None] | None:
    """None: a row has a number with which a condition of the band may leave 64 bits."""
    total: Int64s | None = None
    valid: Flags | None = None
    most = largest_safe(band)
    for term in terms:
        column = columns[term.column]
        if column.null_count:
            there = column.is_valid().to_numpy(zero_copy_only=False)
            valid = there if valid is None else valid & there
            column = column.fill_null(0)
        values = column.to_numpy()
        if most is not None and len(values):
            if values.min() < -most or values.max() > most:
                return None
            values = values * term.sign
        total = values if total is None else total + values
    assert total is not None
    return total, valid


def _edge(own: NDArray[np.float64], bound: Bound, sign: int, doubt: float) -> NDArray[np.float64]:
    value, scale = float(Fraction(bound.value)), float(Fraction(bound.scale))
    margin = np.where(np.isfinite(own), (np.abs(own) + scale) * doubt, 0.0)
    edge: NDArray[np.float64] = own + sign * value + margin
    return edge


def _real_bits(term: Term, columns: Columns) -> tuple[Int64s, Flags]:
    values, there, odd = _real(columns[term.column], term.sign)
    places = ordered_bits(values)
    if odd is not None:
        places[odd] = NAN_PLACE
    return places, there


def _real(column: pa.Array, sign: int) -> tuple[NDArray[np.float64], Flags, Flags | None]:
    """The values, which of them are there, and which are NaN; None: none is. Those have the value 0."""
    there = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False) * sign
    odd = np.isnan(values)
    if not odd.any():
        return values, there, None
    return np.where(odd, 0.0, values), there, odd
