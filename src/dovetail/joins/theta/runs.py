"""The rows that one side of a theta join holds, as sorted runs: an index that grows with its new rows.

Law: every row that the ring holds, and that may match at all, is in exactly one run. A run may also have rows
that the ring no longer holds. That is safe, because the ring is asked for each row that is found.

Idea. The new rows of a step are sorted and become a run. Runs of similar size are merged, so the number of
runs grows with the logarithm of the window, and so does how often a row is moved (a log-structured merge
tree, O'Neil et al. 1996). Runs do not change once made. When the runs have half as many rows again as the
ring, the rows that are gone are removed. So the cost of a step grows with its new rows, times the logarithm
of the window, and not with the window.

Each run is sorted by one dimension (`layout.py`): the one that leaves the fewest candidates for the latest
probes. Without any dimension it is sorted by row number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer
from dovetail.joins.theta.compiled import Words, words
from dovetail.joins.theta.layout import IndexBounds, IndexLayout, Looked
from dovetail.kernels.ring import tag_of

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]
SAMPLE = 512
SLACK_ROWS = 4096
"""This many rows that are gone may always stay."""


@dataclass
class SortedRun:
    """Rows in the order of the first line of `values`."""

    rows: Int64s
    values: Int64s  # a line for each dimension
    lines: tuple[int, ...]  # which dimension each line is
    words: Int64s  # a line for each column that a compiled condition reads: 64 bits, whatever they mean
    there: Flags  # the same, whether there is a value; without lines where all are there
    loose: bool
    name: str = ""  # of its file, if it has one,
    checksum: int = 0  # and what that holds

    def __len__(self) -> int:
        return len(self.rows)

    def fits(self, layout: IndexLayout) -> bool:
        return len(self.lines) == layout.dimensions and len(self.words) == len(layout.words)

    @property
    def nullable(self) -> bool:
        return len(self.there) > 0

    def column(self, number: int, *, real: bool) -> NDArray[np.int64] | NDArray[np.float64]:
        line: Int64s = self.words[number]
        return line.view(np.float64) if real else line

    def at(self, places: Int64s | Flags) -> SortedRun:
        return SortedRun(
            self.rows[places],
            np.ascontiguousarray(self.values[:, places]),
            self.lines,
            np.ascontiguousarray(self.words[:, places]),
            np.ascontiguousarray(self.there[:, places]),
            self.loose,
        )

    def by(self, dimension: int) -> SortedRun:
        """The same rows, sorted by a dimension; without any: by number."""
        if not self.lines:
            return self.at(np.argsort(self.rows, kind="stable"))
        lines = (dimension, *(line for line in range(len(self.lines)) if line != dimension))
        turned = self
        if lines != self.lines:
            turned = SortedRun(
                self.rows,
                self.values[[self.lines.index(line) for line in lines]],
                lines,
                self.words,
                self.there,
                self.loose,
            )
        return turned.at(np.argsort(turned.values[0], kind="stable"))  # two runs, end to end: one merge


def made(layout: IndexLayout, rows: Int64s, looked: Looked, dimension: int = 0) -> SortedRun:
    """A run of rows that may match."""
    places = layout.places(looked)
    columns = [words(looked.columns[name]) for name in layout.words]
    if len(places.which) < len(rows):
        rows, columns = rows[places.which], [column.at(places.which) for column in columns]
    return SortedRun(
        rows,
        places.values,
        tuple(range(layout.dimensions)),
        np.array([column.values.view(np.int64) for column in columns], np.int64).reshape(
            len(columns), len(rows)
        ),
        _flags(columns, len(rows)),
        places.loose,
    ).by(dimension)


def _flags(columns: list[Words], count: int) -> Flags:
    if all(column.there is None for column in columns):
        return np.empty((0, count), np.bool_)
    return np.array([np.ones(count, np.bool_) if c.there is None else c.there for c in columns], np.bool_)


def merged(first: SortedRun, second: SortedRun, dimension: int) -> SortedRun:
    order = [second.lines.index(line) for line in first.lines]
    there = [first.there, second.there]
    if first.nullable != second.nullable:
        there = [run.there if run.nullable else np.ones(run.words.shape, np.bool_) for run in (first, second)]
    return SortedRun(
        np.concatenate([first.rows, second.rows]),
        np.concatenate([first.values, second.values[order]], axis=1),
        first.lines,
        np.concatenate([first.words, second.words], axis=1),
        np.concatenate(there, axis=1),
        first.loose,
    ).by(dimension)


class Runs:
    """All runs of one side, oldest first. `runs` is changed in place."""

    def __init__(self, layout: IndexLayout, runs: list[SortedRun]) -> None:
        self.layout = layout
        self.runs = runs

    @property
    def leading(self) -> int:
        """The dimension by which the largest run is sorted."""
        largest = max(self.runs, key=len, default=None)
        return largest.lines[0] if largest is not None and largest.lines else 0

    def add(self, rows: Int64s, looked: Looked, buffer: Buffer) -> None:
        """Rows that the buffer has got, or will get before anything is asked for."""
        new = made(self.layout, rows, looked, self.leading)
        if not len(new):
            return
        self.runs.append(new)
        while (couple := self._too_alike(new.loose)) is not None:
            first, second = couple
            joined = merged(first, second, self.leading)
            self.runs[:] = [run for run in self.runs if run is not first and run is not second] + [joined]
        self._tidy(buffer)

    def _too_alike(self, loose: bool) -> tuple[SortedRun, SortedRun] | None:
        alike = [run for run in self.runs if run.loose == loose]
        return (alike[-2], alike[-1]) if len(alike) > 1 and len(alike[-2]) < 2 * len(alike[-1]) else None

    def _tidy(self, buffer: Buffer) -> None:
        most = 3 * buffer.rows // 2 + SLACK_ROWS
        if sum(map(len, self.runs)) <= most:
            return
        if self.layout.reach is None:  # the number is the time: what is before the first one held is gone
            self._keep([run.rows >= buffer.low_time for run in self.runs])
        if sum(map(len, self.runs)) > most:
            self._keep([slots_of(buffer, run.rows) >= 0 for run in self.runs])

    def _keep(self, flags: list[Flags]) -> None:
        kept = [
            run if flag.all() else run.at(np.flatnonzero(flag))
            for run, flag in zip(self.runs, flags, strict=True)
        ]
        self.runs[:] = [run for run in kept if len(run)]

    def suit(self, bounds: IndexBounds) -> None:
        """Sort large runs again, by the dimension that leaves these probes far fewer candidates."""
        if self.layout.dimensions < 2 or bounds.loose:
            return
        for number, run in enumerate(self.runs):
            if len(run) >= SLACK_ROWS and not run.loose:
                counts = _candidates(run, bounds)
                best = min(counts, key=lambda dimension: counts[dimension])
                if 2 * counts[best] < counts[run.lines[0]]:
                    self.runs[number] = run.by(best)


def _candidates(run: SortedRun, bounds: IndexBounds) -> dict[int, float]:
    """How many rows are within the probes' bounds in each dimension, in a sample of both."""
    some = slice(None, None, max(1, bounds.lows.shape[1] // SAMPLE))
    counts = {}
    for line, dimension in enumerate(run.lines):
        rows = np.sort(run.values[line, :: max(1, len(run) // SAMPLE)])
        low = np.searchsorted(rows, bounds.lows[dimension, some], side="left")
        high = np.searchsorted(rows, bounds.highs[dimension, some], side="right")
        counts[dimension] = float(np.maximum(high - low, 0).sum())
    return counts


def slots_of(buffer: Buffer, rows: Int64s) -> Int64s:
    """Where rows are in a buffer; -1: it no longer holds them. Without keys a row's number is its tag."""
    return buffer.find(tag_of(rows << 32), rows)
