"""What changed in a buffer between two moments, so that a snapshot need not hold what an earlier one does.

Law: the rows of a buffer are those of `whole` over all changes since it was empty, in their order: a row that
came and did not go, with the last that was said of it.

A row enters a buffer once: its number is its own, and after rows were dealt out again a snapshot is a full
one. So it does not matter in which order a row's coming and going are looked at, and changes of many steps
are put together in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Held, Int64s
from dovetail.joins.journal import BufferJournal

_NONE = np.empty(0, np.int64)


class Changes(NamedTuple):
    """`new` rows that came and are still there. Of rows that had come before: the numbers of those that are
    `gone`, of those that have `marked` a first match, and the partners that rows `pick_of` have chosen."""

    new: Held
    gone: Int64s = _NONE
    marked: Int64s = _NONE
    pick_of: Int64s = _NONE
    pick_time: Int64s = _NONE
    pick_row: Int64s = _NONE

    @classmethod
    def nothing(cls) -> Changes:
        return cls(Held.fresh(np.empty(0, np.uint32), _NONE, _NONE))

    @property
    def size(self) -> int:
        return len(self.new.row) + len(self.gone) + len(self.marked) + len(self.pick_of)

    @property
    def high(self) -> int:
        """No row that is spoken of has a number above this."""
        spoken = (self.new.row, self.gone, self.marked, self.pick_of)
        return max((int(rows.max()) for rows in spoken if len(rows)), default=-1)


def of_journal(journal: BufferJournal, *, rows: bool, matches: bool) -> Changes:
    """What a buffer's journal says, if its rows are saved, or only which have matched."""
    new, picks = journal.new(), journal.picks()
    marked = journal.marked_rows()
    if not rows:
        marked = np.concatenate([marked, new.row[new.matched]]) if matches else _NONE
        return Changes.nothing()._replace(marked=_once(marked))
    return joined([Changes(new, journal.gone_rows(), marked, *picks)])


def joined(parts: Sequence[Changes], low: int = 0) -> Changes:
    """The changes of all parts, one after the other, as one. What is said of rows below `low` is left out:
    they are gone for good."""
    new = parts[0].new
    for part in parts[1:]:
        new = new.joined(part.new)
    came = np.sort(new.row)
    gone, marked = (_once(np.concatenate(said)) for said in _each(parts))
    of = np.concatenate([part.pick_of for part in parts])
    time, row = (np.concatenate([part[n] for part in parts]) for n in (4, 5))
    new = new.where(~_among(new.row, gone) & (new.row >= low))
    if len(marked):
        new = new._replace(matched=new.matched | _among(new.row, marked))
    if len(of):
        last = len(of) - 1 - np.unique(of[::-1], return_index=True)[1]  # by row number, what was said last
        of, time, row = of[last], time[last], row[last]
        at = np.minimum(np.searchsorted(of, new.row), len(of) - 1)
        chose = of[at] == new.row
        new = new._replace(
            best_time=np.where(chose, time[at], new.best_time),
            best_row=np.where(chose, row[at], new.best_row),
        )
        said = (of >= low) & ~_among(of, came) & ~_among(of, gone)
        of, time, row = of[said], time[said], row[said]
    marked = marked[(marked >= low) & ~_among(marked, came) & ~_among(marked, gone)]
    gone = gone[(gone >= low) & ~_among(gone, came)]
    return Changes(new, gone, marked, of, time, row)


def _each(parts: Sequence[Changes]) -> tuple[list[Int64s], list[Int64s]]:
    return [part.gone for part in parts], [part.marked for part in parts]


def _once(rows: Int64s) -> Int64s:
    """The rows in order, each once. (`np.unique` takes several times as long.)"""
    ordered = np.sort(rows)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(rows) else rows


def _among(rows: Int64s, some: Int64s) -> NDArray[np.bool_]:
    """Which rows are among `some`, which are sorted."""
    if not len(some):
        return np.zeros(len(rows), np.bool_)
    at = np.minimum(np.searchsorted(some, rows), len(some) - 1)
    found: NDArray[np.bool_] = some[at] == rows
    return found
