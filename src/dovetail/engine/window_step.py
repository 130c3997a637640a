"""One step of an aggregate over time windows: the rows of the windows that close, each with its window.

Laws. Over all steps, each row comes out once for every window for which it was on time, and all rows of a
window come out of one step. The result depends only on the log and the part, so a part that runs again gives
the same rows.

A changed query may read a column that was added while windows were open. In a window with a row from before
the change, the column is null in every row. So what is computed from it covers all rows of a window or none,
never only those that came later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.engine.join_step import batches_of
from dovetail.engine.window_planner import OpenSegment, WindowPart
from dovetail.joins.rows.gather import Rows, equal_numbers
from dovetail.log.category import Category
from dovetail.log.generations import columns_lacking
from dovetail.log.segment import Segment
from dovetail.model.time_codes import FIRST_TIME
from dovetail.model.window_config import WindowConfig
from dovetail.windows.pairs import Int64s, RowWindows, closed, closed_sessions, sessions

HASH, TIME = "_hash", "_time"
START, END = "_window_start", "_window_end"
CLOSED = "_window_closed"
MOMENT = pa.timestamp("us", "UTC")
Bools = NDArray[np.bool_]
Unknown = dict[str, Bools]
"""By column, in which pairs it is not known: a row of the window was written without it."""
MOST_PAIRS = 1 << 20
"""For rows and windows that are looked at together."""


def run_part(config: WindowConfig, part: WindowPart, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one task: the bounds of its window, if wanted whether it has closed, and the columns of the
    query."""
    category = Category.open(config.home, config.rows)
    rows = Rows(category, part.pieces[0].commit, part.pieces[-1].commit + 1)
    found = _sessions(config, category, part) if config.window.is_session else _fixed(config, category, part)
    for pairs, unknown in found:
        yield from gathered(rows, pairs, schema, closed=not part.early, unknown=unknown)


def gathered(
    rows: Rows, pairs: RowWindows, schema: pa.Schema, *, closed: bool = True, unknown: Unknown | None = None
) -> Iterator[pa.RecordBatch]:
    """Rows by their numbers in the category, with the bounds of their windows."""
    unknown = unknown or {}
    bounds = {START: pairs.start, END: pairs.end}
    at = 0
    for batch in batches_of({"left": rows}, {"left": rows.places(pairs.row)}):
        stop = at + len(batch["left"])
        arrays = [
            pa.array(bounds[field.name][at:stop]).cast(MOMENT)
            if field.name in bounds
            else pa.repeat(pa.scalar(closed), stop - at)
            if field.name == CLOSED
            else _known(batch["left"].take(field.name), unknown.get(field.name), at)
            for field in schema
        ]
        yield pa.record_batch(
            [
                array if array.type.equals(field.type) else array.cast(field.type)
                for array, field in zip(arrays, schema, strict=True)
            ],
            schema=schema,
        )
        at = stop


def _known(values: pa.Array, unknown: Bools | None, at: int) -> pa.Array:
    """The values of the pairs from `at` on, where the column is known of the window."""
    if unknown is None or not unknown[at : at + len(values)].any():
        return values
    here = pa.array(unknown[at : at + len(values)])
    return pc.if_else(here, pa.scalar(None, values.type), values)


def _fixed(
    config: WindowConfig, category: Category, part: WindowPart
) -> Iterator[tuple[RowWindows, Unknown | None]]:
    begun = _begun_without(config, category, part)
    for pairs in _fixed_pairs(config, category, part, part.pieces):
        yield pairs, {name: np.isin(pairs.start, starts) for name, starts in begun.items()}


def _begun_without(config: WindowConfig, category: Category, part: WindowPart) -> dict[str, Int64s]:
    """By column, where the windows begin that have a row without it."""
    found: dict[str, list[Int64s]] = {}
    lacking = columns_lacking(category, config.columns)
    for piece, segment in _opened(category, part.older):
        for pairs in _fixed_pairs(config, category, part, [piece]):
            for name in lacking[segment.info.generation]:
                found.setdefault(name, []).append(np.unique(pairs.start))
    return {name: np.unique(np.concatenate(starts)) for name, starts in found.items()}


def _fixed_pairs(
    config: WindowConfig, category: Category, part: WindowPart, pieces: Sequence[OpenSegment]
) -> Iterator[RowWindows]:
    most_rows = max(1, MOST_PAIRS // config.window.windows_per_row)
    for piece, segment in _opened(category, pieces):
        times = times_of(segment)
        for at in range(0, len(times), most_rows):
            some = times[at : at + most_rows]
            before = np.full(len(some), piece.before_us, np.int64)
            pairs = closed(config.window, some, before, part.after_us, part.upto_us)
            if len(pairs.row):
                yield pairs._replace(row=pairs.row + segment.first_row + at)


def _sessions(
    config: WindowConfig, category: Category, part: WindowPart
) -> Iterator[tuple[RowWindows, Unknown | None]]:
    rows = _Timed.of(config, category, part.pieces, part.task, part.tasks)
    gap_us = config.window.length_us
    pairs = closed_sessions(gap_us, rows.keys, rows.times, rows.before, part.after_us, part.upto_us)
    if not len(pairs.row):
        return
    of_log = pairs._replace(row=rows.number[pairs.row])
    # A session's rows are next to each other.
    key = rows.keys[pairs.row]
    begins = np.ones(len(key), np.bool_)
    begins[1:] = (key[1:] != key[:-1]) | (pairs.start[1:] != pairs.start[:-1])
    session = np.cumsum(begins) - 1
    unknown = {
        name: np.isin(session, session[without])
        for name, without in _rows_without(config, category, part, of_log.row).items()
    }
    yield of_log, unknown


def _rows_without(
    config: WindowConfig, category: Category, part: WindowPart, rows: Int64s
) -> dict[str, Bools]:
    """By column, which of these rows were written without it."""
    found: dict[str, Bools] = {}
    lacking = columns_lacking(category, config.columns)
    for _, segment in _opened(category, part.older):
        first = segment.first_row
        here = (rows >= first) & (rows < first + segment.info.rows)
        for name in lacking[segment.info.generation]:
            found[name] = found.get(name, False) | here
    return found


def first_open_commit(config: WindowConfig, pieces: Sequence[OpenSegment], time_us: int) -> int | None:
    """The first commit with a row of a session that is open at a stream time; None: there is none."""
    if not pieces:
        return None
    rows = _Timed.of(config, Category.open(config.home, config.rows), pieces)
    pairs = sessions(config.window.length_us, rows.keys, rows.times, rows.before)
    held = pairs.row[pairs.end > time_us]
    return int(rows.commit[held].min()) if len(held) else None


class _Timed:
    """Rows that may be in an open session: their numbers, times, commits, stream time before these, and a
    number that is equal where the keys are."""

    def __init__(self, number: Int64s, times: Int64s, commit: Int64s, before: Int64s, keys: Int64s) -> None:
        self.number, self.times, self.commit, self.before, self.keys = number, times, commit, before, keys

    @classmethod
    def of(
        cls,
        config: WindowConfig,
        category: Category,
        pieces: Sequence[OpenSegment],
        task: int = 0,
        tasks: int = 1,
    ) -> _Timed:
        numbers: list[Int64s] = []
        times: list[Int64s] = []
        hashes: list[Int64s] = []
        of_piece: list[Int64s] = []
        columns: list[list[pa.Array]] = [[] for _ in config.keys]
        for place, (piece, segment) in enumerate(_opened(category, pieces)):
            when = times_of(segment)
            chosen: Bools = (when >= FIRST_TIME) & (when >= piece.before_us)
            if config.keys:
                hashed = segment.mapped.column(HASH).to_numpy(zero_copy_only=False)
                if tasks > 1:
                    chosen &= hashed % tasks == task
                hashes.append(hashed[chosen])
            at = np.flatnonzero(chosen)
            numbers.append(segment.first_row + at)
            times.append(when[at])
            of_piece.append(np.full(len(at), place, np.int64))
            for column, key in zip(columns, config.keys, strict=True):
                column.append(segment.mapped.column(key).take(pa.array(at)))
        number, all_times, place_of = (np.concatenate(part) for part in (numbers, times, of_piece))
        keys = np.zeros(len(number), np.int64)
        if config.keys:
            keys = equal_numbers(np.concatenate(hashes), [pa.concat_arrays(column) for column in columns])
        commits = np.array([piece.commit for piece in pieces], np.int64)
        befores = np.array([piece.before_us for piece in pieces], np.int64)
        return cls(number, all_times, commits[place_of], befores[place_of], keys)


def times_of(segment: Segment) -> Int64s:
    times: Int64s = segment.mapped.column(TIME).to_numpy()
    return times


def _opened(category: Category, pieces: Sequence[OpenSegment]) -> Iterator[tuple[OpenSegment, Segment]]:
    for piece in pieces:
        yield piece, category.open_segment(category.commit(piece.commit).segments[piece.segment])
