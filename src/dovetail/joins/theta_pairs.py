"""The pairs of a theta join: some rows of one side against some of the other.

Law: exactly the pairs for which all bands and all other conditions hold, and which lie within the window.

Idea. Every bound on a difference is a *dimension*: the bands, and the window of event time. The rows looked
at are sorted by the dimension that leaves the fewest candidates (told from a sample of both), a binary
search a probe gives its range, and a kernel checks the other dimensions over that range. What no band says
is evaluated over the candidates that are left, by whole columns. Without any dimension all pairs are
candidates.

Whole numbers are exact. Of other numbers the index only finds candidates, by bounds that are a little too
wide for what rounding may do; the condition as it was written decides. A row whose value in a band is null
or NaN has no place on the number line and matches nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.joins.theta_condition import Columns, holds
from dovetail.kernels.theta.band import in_band, ordered_bits
from dovetail.model.share import Side
from dovetail.model.theta import Band, Bound, Expression, Term, Theta, operands_in

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]
Reach = tuple[int, int]
"""How far before and after a left row's time right rows may lie."""

LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
CANDIDATES = 1 << 21
"""Looked at together: what they take is bounded."""
SAMPLE = 512
DOUBLE_DOUBT, SINGLE_DOUBT = 2.0**-49, 2.0**-20
"""Of a number's size: more than rounding, in any spelling of a band, can be off."""


class Looked(NamedTuple):
    """Rows to look at: their event times, and the columns that conditions read, as these see them."""

    time: Int64s
    columns: Columns

    def __len__(self) -> int:
        return len(self.time)


class _Dimension(NamedTuple):
    """Each probe's bounds, and each row's value; both ends belong to it."""

    lows: Int64s
    highs: Int64s
    values: Int64s
    probes: Flags | None = None  # which have a place in it; None: all
    rows: Flags | None = None


def find(
    theta: Theta, reach: Reach | None, probing: Side, probes: Looked, rows: Looked
) -> tuple[Int64s, Int64s]:
    """Pairs (probe, row). `reach` None: times do not count."""
    dimensions, rest = _dimensions(theta, reach, probing, probes, rows)
    which = _placed([dimension.probes for dimension in dimensions], len(probes))
    where = _placed([dimension.rows for dimension in dimensions], len(rows))
    if not len(which) or not len(where):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    narrowed = [_Dimension(d.lows[which], d.highs[which], d.values[where]) for d in dimensions]
    found = [
        _checked(rest, probing, probes, rows, which[some], where[others])
        for some, others in _candidates(narrowed, len(which), len(where), bool(rest))
    ]
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([some for some, _ in found]), np.concatenate([others for _, others in found])


def _placed(flags: list[Flags | None], count: int) -> Int64s:
    """Those that have a place in every dimension."""
    there = np.ones(count, np.bool_)
    for flag in flags:
        if flag is not None:
            there &= flag
    return np.flatnonzero(there)


def _candidates(
    dimensions: list[_Dimension], probes: int, rows: int, taken: bool
) -> Iterator[tuple[Int64s, Int64s]]:
    """Pairs that lie within all dimensions, some at a time."""
    leading = _leading(dimensions)
    if leading is None:
        order = np.arange(rows)
        starts, stops = np.zeros(probes, np.int64), np.full(probes, rows, np.int64)
        checked: list[_Dimension] = []
    else:
        first = dimensions[leading]
        order = np.argsort(first.values, kind="stable")
        ascending = first.values[order]
        starts = np.searchsorted(ascending, first.lows, side="left")
        stops = np.maximum(np.searchsorted(ascending, first.highs, side="right"), starts)
        checked = [dimension for at, dimension in enumerate(dimensions) if at != leading]
    lows = np.array([d.lows for d in checked], np.int64).reshape(len(checked), probes)
    highs = np.array([d.highs for d in checked], np.int64).reshape(len(checked), probes)
    values = np.array([d.values[order] for d in checked], np.int64).reshape(len(checked), rows)
    many = CANDIDATES if taken or not checked else 8 * CANDIDATES
    edges = np.cumsum(stops - starts)
    begin = 0
    while begin < probes:
        so_far = edges[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(edges, so_far + many, side="right")))
        part = slice(begin, end)
        which, at = in_band(
            starts[part],
            stops[part],
            np.ascontiguousarray(lows[:, part]),
            np.ascontiguousarray(highs[:, part]),
            values,
        )
        if len(which):
            yield which + begin, order[at]
        begin = end


def _leading(dimensions: list[_Dimension]) -> int | None:
    """The dimension in which a probe's bounds hold the fewest rows, in a sample of both."""
    best, fewest = None, math.inf
    for number, dimension in enumerate(dimensions):
        rows = np.sort(dimension.values[:: max(1, len(dimension.values) // SAMPLE)])
        some = slice(None, None, max(1, len(dimension.lows) // SAMPLE))
        low = np.searchsorted(rows, dimension.lows[some], side="left")
        high = np.searchsorted(rows, dimension.highs[some], side="right")
        count = float(np.maximum(high - low, 0).sum())
        if count < fewest:
            best, fewest = number, count
    return best


def _checked(
    rest: list[Expression], probing: Side, probes: Looked, rows: Looked, which: Int64s, where: Int64s
) -> tuple[Int64s, Int64s]:
    """The candidates for which what no index has decided holds."""
    if not rest:
        return which, where
    at_probes, at_rows = pa.array(which), pa.array(where)
    read = {(operand.side, operand.column) for condition in rest for operand in operands_in(condition)}
    mine = {name: probes.columns[name].take(at_probes) for side, name in read if side == probing}
    theirs = {name: rows.columns[name].take(at_rows) for side, name in read if side != probing}
    left, right = (mine, theirs) if probing == "left" else (theirs, mine)
    verdict = np.ones(len(which), np.bool_)
    for condition in rest:
        verdict &= holds(condition, left, right)
    return which[verdict], where[verdict]


def _dimensions(
    theta: Theta, reach: Reach | None, probing: Side, probes: Looked, rows: Looked
) -> tuple[list[_Dimension], list[Expression]]:
    """What an index can do, and what is left to look at pair by pair."""
    dimensions: list[_Dimension] = []
    rest = list(theta.rest)
    if reach is not None:
        before, after = reach if probing == "left" else (reach[1], reach[0])
        dimensions.append(_Dimension(_plus(probes.time, -before), _plus(probes.time, after), rows.time))
    for band in theta.bands:
        made = _whole_band(band, probing, probes, rows)
        if made is None:
            rest.extend(band.spelled)
            made = _rough_band(band, probing, probes, rows)
        if made is not None:
            dimensions.append(made)
    return dimensions, rest


def _other(side: Side) -> Side:
    return "right" if side == "left" else "left"


def _whole_band(band: Band, probing: Side, probes: Looked, rows: Looked) -> _Dimension | None:
    """Of whole numbers, if no sum can leave 64 bits."""
    mine = _whole_sum(band.terms(probing), probes.columns)
    theirs = _whole_sum(band.terms(_other(probing)), rows.columns)
    low, high = _whole_bound(band.low, up=True), _whole_bound(band.high, up=False)
    if mine is None or theirs is None or max(abs(low or 0), abs(high or 0)) > HIGHEST:
        return None
    if probing == "left":  # low <= mine - theirs <= high
        low, high = None if high is None else -high, None if low is None else -low
    lows = np.full(len(probes), LOWEST) if low is None else _plus(mine[0], low)
    highs = np.full(len(probes), HIGHEST) if high is None else _plus(mine[0], high)
    return _Dimension(lows, highs, theirs[0], mine[1], theirs[1])


def _whole_sum(terms: tuple[Term, ...], columns: Columns) -> tuple[Int64s, Flags | None] | None:
    if not all(pa.types.is_int64(columns[term.column].type) for term in terms):
        return None
    total: Int64s | None = None
    valid: Flags | None = None
    simple = len(terms) == 1 and terms[0].sign > 0
    for term in terms:
        column = columns[term.column]
        if column.null_count:
            there = column.is_valid().to_numpy(zero_copy_only=False)
            valid = there if valid is None else valid & there
            column = column.fill_null(0)
        values = column.to_numpy()
        if not simple and len(values):
            most = HIGHEST // (2 * len(terms))
            if values.min() < -most or values.max() > most:
                return None
            values = values * term.sign
        total = values if total is None else total + values
    assert total is not None
    return total, valid


def _whole_bound(bound: Bound | None, *, up: bool) -> int | None:
    """The nearest whole number that a whole difference may be: bounds need not be whole."""
    if bound is None:
        return None
    value = Fraction(bound.value)
    if up:
        return math.floor(value) + 1 if bound.strict else math.ceil(value)
    return math.ceil(value) - 1 if bound.strict else math.floor(value)


def _rough_band(band: Band, probing: Side, probes: Looked, rows: Looked) -> _Dimension | None:
    """Of other numbers: one term a side, as sums may cancel out to anything."""
    (mine, *more), (theirs, *others) = band.terms(probing), band.terms(_other(probing))
    columns = probes.columns[mine.column], rows.columns[theirs.column]
    kinds = [column.type for column in columns]
    numbers = all(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in kinds
    )
    if more or others or not numbers:
        return None
    doubt = SINGLE_DOUBT if any(map(pa.types.is_float32, kinds)) else DOUBLE_DOUBT
    (own, probes_there), (values, rows_there) = (
        _real(column, term.sign) for column, term in zip(columns, (mine, theirs), strict=True)
    )
    low, high = band.low, band.high
    sign = 1
    if probing == "left":
        low, high, sign = high, low, -1
    with np.errstate(invalid="ignore", over="ignore"):
        lows = np.full(len(probes), -np.inf) if low is None else _edge(own, low, sign, -doubt)
        highs = np.full(len(probes), np.inf) if high is None else _edge(own, high, sign, doubt)
    return _Dimension(ordered_bits(lows), ordered_bits(highs), ordered_bits(values), probes_there, rows_there)


def _edge(own: NDArray[np.float64], bound: Bound, sign: int, doubt: float) -> NDArray[np.float64]:
    value, scale = float(Fraction(bound.value)), float(Fraction(bound.scale))
    margin = np.where(np.isfinite(own), (np.abs(own) + scale) * doubt, 0.0)
    edge: NDArray[np.float64] = own + sign * value + margin
    return edge


def _real(column: pa.Array, sign: int) -> tuple[NDArray[np.float64], Flags]:
    values = column.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(zero_copy_only=False) * sign
    there = ~np.isnan(values)
    return np.where(there, values, 0.0), there


def _plus(values: Int64s, distance: int) -> Int64s:
    """A sum that stops at the ends of 64 bits."""
    with np.errstate(over="ignore"):
        moved: Int64s = values + np.int64(distance)
    if distance > 0:
        moved[moved < values] = HIGHEST
    else:
        moved[moved > values] = LOWEST
    return moved
