"""The pairs of a theta join: some rows of one side against a run of the other.

Law: exactly the pairs within the window for which all bands and all other conditions hold.

Idea. A binary search gives each probe its range in the dimension by which the run is sorted, and a kernel
checks the other dimensions over that range. The conditions that no index decides are checked for the
candidates that are left: in the same kernel if they can be compiled, otherwise by whole columns. Without any
dimension all pairs are candidates.

Compiling takes as long as checking some million candidates by columns. So the first candidates are checked by
columns; small streams never have more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.joins.theta.compiled import pairs_kernel, words
from dovetail.joins.theta.condition import Columns, holds
from dovetail.joins.theta.kernels.band import in_band
from dovetail.joins.theta.layout import IndexBounds, IndexLayout, Looked, Reach, other
from dovetail.joins.theta.runs import SortedRun, made
from dovetail.model.share import Side
from dovetail.model.theta import Expression, Theta, operands_in

Int64s = NDArray[np.int64]
Gather = Callable[[Int64s], Columns]
"""The columns of rows of the stored side, by their numbers."""

CANDIDATES = 1 << 21
"""Looked at together: what they take is bounded."""
PAYS_FROM = 1 << 23
"""Candidates: from then on a condition is compiled."""

_looked_at: dict[tuple[Expression, ...], int] = {}
"""For each condition, the candidates that this process has looked at by columns."""


def find(
    theta: Theta, reach: Reach | None, probing: Side, probes: Looked, rows: Looked
) -> tuple[Int64s, Int64s]:
    """Pairs (probe, row). `reach` None: times do not count."""
    kinds = [{name: column.type for name, column in some.columns.items()} for some in (probes, rows)]
    layout = IndexLayout(theta, reach, other(probing), {probing: kinds[0], other(probing): kinds[1]})
    run = made(layout, np.arange(len(rows)), rows)
    bounds = layout.bounds(probes)
    found = [
        (which, run.rows[at])
        for which, at in pairs_in(layout, probes, bounds, run, lambda numbers: rows.where(numbers).columns)
    ]
    nobody = np.empty(0, np.int64)
    return tuple(np.concatenate([nobody, *(pair[n] for pair in found)]) for n in (0, 1))  # type: ignore[return-value]


def pairs_in(
    layout: IndexLayout,
    probes: Looked,
    bounds: IndexBounds,
    run: SortedRun,
    gather: Gather,
    first_row: int | None = None,
) -> Iterator[tuple[Int64s, Int64s]]:
    """Pairs (probe, position in the run), some at a time. `first_row`: smaller numbers need not be found."""
    if run.loose and not bounds.loose:
        bounds = layout.unbounded(probes)
    if not len(bounds.which) or not len(run):
        return
    order, starts, stops = _ranges(bounds, run, first_row)
    which, checked = bounds.which[order], list(run.lines[1:])
    lows, highs = bounds.lows[checked][:, order], bounds.highs[checked][:, order]
    edges = np.cumsum(stops - starts)
    rest, fast = layout.theta.conditions if bounds.loose else layout.rest, None
    by_columns = _ByColumns(layout, probes, run, gather)
    begin = 0
    while begin < len(which):
        if fast is None and not bounds.loose and layout.compiled and _pays(layout.rest):
            fast, rest = _compiled(layout, probes, which, run), layout.by_columns
        many = 8 * CANDIDATES if fast or checked else CANDIDATES  # few of them come out
        so_far = edges[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(edges, so_far + many, side="right")))
        part = slice(begin, end)
        ranges = (
            starts[part],
            stops[part],
            np.ascontiguousarray(lows[:, part]),
            np.ascontiguousarray(highs[:, part]),
            run.values[1:],
        )
        some, at = fast(part, ranges) if fast else in_band(*ranges)
        if len(some):
            which_of = which[some + begin]
            for piece in _pieces(len(some)):
                found = which_of[piece], at[piece]
                yield by_columns.checked(rest, *found) if rest else found
        begin = end


def _pieces(count: int) -> list[slice]:
    return [slice(start, start + CANDIDATES) for start in range(0, count, CANDIDATES)]


def _ranges(bounds: IndexBounds, run: SortedRun, first_row: int | None) -> tuple[Int64s, Int64s, Int64s]:
    """An order of the probes in which neighbours look at the same rows, and the range of each."""
    count = len(bounds.which)
    if not run.lines:
        start = 0 if first_row is None else int(np.searchsorted(run.rows, first_row))
        return np.arange(count), np.full(count, start, np.int64), np.full(count, len(run), np.int64)
    low, high = bounds.lows[run.lines[0]], bounds.highs[run.lines[0]]
    order = bounds.order(run.lines[0])
    starts = np.searchsorted(run.values[0], low[order], side="left")
    stops = np.searchsorted(run.values[0], high[order], side="right")
    return order, starts, np.maximum(stops, starts)


Ranges = tuple[Int64s, ...]


def _pays(rest: tuple[Expression, ...]) -> bool:
    return _looked_at.get(rest, 0) >= PAYS_FROM


def _compiled(
    layout: IndexLayout, probes: Looked, which: Int64s, run: SortedRun
) -> Callable[[slice, Ranges], tuple[Int64s, Int64s]]:
    """What of the rest can be compiled; the probes are those of `which`, in that order."""
    own = {
        operand.column: words(probes.columns[operand.column]).at(which)
        for operand, _ in layout.operands
        if operand.side == layout.probing
    }
    nullable = run.nullable or any(column.there is not None for column in own.values())
    dimensions = max(0, len(run.lines) - 1)
    kernel = pairs_kernel(layout.compiled, layout.operands, layout.probing, dimensions, nullable)

    def pairs(part: slice, ranges: Ranges) -> tuple[Int64s, Int64s]:
        columns: list[NDArray[np.generic]] = []
        line = 0
        for operand, kind in layout.operands:
            if operand.side == layout.probing:
                column = own[operand.column]
                values, there = column.values[part], None if column.there is None else column.there[part]
            else:
                values = run.column(line, real=kind in ("double", "float"))
                there = run.there[line] if run.nullable else None
                line += 1
            columns.append(values)
            if nullable:
                columns.append(np.ones(len(values), np.bool_) if there is None else there)
        return kernel(*ranges, *columns)

    return pairs


class _ByColumns:
    """Conditions by Arrow. Columns of the run are gathered once, where it has fewer rows than candidates."""

    def __init__(self, layout: IndexLayout, probes: Looked, run: SortedRun, gather: Gather) -> None:
        self._layout, self._probes, self._run, self._gather = layout, probes, run, gather
        self._whole: Columns | None = None

    def checked(self, rest: tuple[Expression, ...], which: Int64s, at: Int64s) -> tuple[Int64s, Int64s]:
        """The candidates for which all conditions hold."""
        _looked_at[rest] = _looked_at.get(rest, 0) + len(which)
        probing, mine = self._layout.probing, pa.array(which)
        read = {(operand.side, operand.column) for one in rest for operand in operands_in(one)}
        theirs = self._theirs(at)
        columns = {
            probing: {name: self._probes.columns[name].take(mine) for side, name in read if side == probing},
            self._layout.stored: {name: theirs[name] for side, name in read if side != probing},
        }
        verdict = np.ones(len(which), np.bool_)
        for condition in rest:
            verdict &= holds(condition, columns["left"], columns["right"])
        return which[verdict], at[verdict]

    def _theirs(self, at: Int64s) -> Columns:
        if self._whole is None and len(at) < len(self._run):
            return self._gather(self._run.rows[at])
        if self._whole is None:
            self._whole = self._gather(self._run.rows)
        places = pa.array(at)
        return {name: column.take(places) for name, column in self._whole.items()}
