"""The checkpoints of a category: tables of its bundled commits, few however many there are.

    64 commits, 64 commits, ...  ──►  4,096, 4,096, ...  ──►  262,144, ...

Law: a checkpoint is made of commits that are in bundles, and those never change. So it is never wrong, only
missing: a category of an older release, or a process that died in between, has none for some commits, and
they are read one by one. Compaction makes those that are missing.

Two processes may write one at once, on a store without locks: they write the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.log import history
from dovetail.log import table as table_format
from dovetail.log.bundle import CommitSpan
from dovetail.log.cache import CHECKPOINTED
from dovetail.log.history import LogBounds
from dovetail.log.table import CommitTable

if TYPE_CHECKING:
    from dovetail.log.category import Category

FOLDER = "checkpoints"
LEVELS = 2
"""How often tables are put together, each time `fan` of them."""
MADE_AT_ONCE = 4
UNUSABLE = (CorruptFile, UnknownVersion, FileNotFoundError)
"""A checkpoint that is damaged, of a later release, or was put into a wider one meanwhile."""

_NAME = re.compile(r"(\d{20})-(\d{20})\.table")


def path_of(category: Category, span: CommitSpan) -> str:
    return f"{category.folder}/{FOLDER}/{span.first:020d}-{span.stop:020d}.table"


def listed(category: Category) -> list[CommitSpan]:
    """All checkpoints of a category, by where they begin, wider ones first."""
    names = category.store.names(f"{category.folder}/{FOLDER}")
    matches = [match for name in names if (match := _NAME.fullmatch(name))]
    return sorted(
        (CommitSpan(int(m[1]), int(m[2])) for m in matches), key=lambda span: (span.first, -span.stop)
    )


def read(category: Category, span: CommitSpan) -> CommitTable:
    path = path_of(category, span)
    data = category.store.buffer(path)
    return table_format.decode(data, span, category.id, where=f"{category.store.root}/{path}")


def tables_from(category: Category, start: int) -> Iterator[CommitTable]:
    """Tables that follow each other, from commit `start` on, as far as there are any."""
    for span in listed(category):
        if span.first <= start < span.stop:
            try:
                found = read(category, span)
            except UNUSABLE:
                continue
            yield found.since(start)
            start = span.stop


def write(category: Category, table: CommitTable) -> None:
    category.store.make_folder(f"{category.folder}/{FOLDER}")
    category.store.create(path_of(category, table.span), table_format.encode(table, category.id))


def make(category: Category, known: LogBounds, span: int, fan: int) -> None:
    """Make some of the checkpoints that are missing, and put narrow ones together. With retention locked."""
    if CHECKPOINTED.get(category.id) == known.bundled:
        return
    spans = listed(category)
    at = _covered(spans, known.first)
    for _ in range(MADE_AT_ONCE):
        if at >= known.bundled or (bundle := history.bundle_of(category, at)) is None:
            break
        stop = min(bundle.span.stop, known.bundled)
        write(category, CommitTable.of([bundle.commit(number, category.id) for number in range(at, stop)]))
        at = stop
    for level in range(1, LEVELS + 1):
        _widen(category, span * fan**level)
    if at >= known.bundled:
        CHECKPOINTED.put(category.id, known.bundled)


def delete_below(category: Category, first: int) -> None:
    """Delete those of commits that are all gone."""
    for span in listed(category):
        if span.stop <= first:
            category.store.delete(path_of(category, span))


def _covered(spans: Sequence[CommitSpan], start: int) -> int:
    for span in spans:
        if span.first <= start < span.stop:
            start = span.stop
    return start


def _widen(category: Category, width: int) -> None:
    """Put the checkpoints of each whole range of that width into one."""
    ranges: dict[int, list[CommitSpan]] = {}
    for span in listed(category):
        end = -(-span.stop // width) * width
        if span.first >= end - width:
            ranges.setdefault(end, []).append(span)
    for end, parts in ranges.items():
        wide = CommitSpan(parts[0].first, end)
        if wide in parts:  # made by a run that died before it could delete the others
            _delete(category, [part for part in parts if part != wide])
        elif parts[-1].stop == end and all(a.stop == b.first for a, b in pairwise(parts)):
            try:
                tables = [read(category, part) for part in parts]
            except (CorruptFile, UnknownVersion):
                _delete_unreadable(category, parts)
                continue
            write(category, CommitTable.joined(tables))
            _delete(category, parts)


def _delete(category: Category, spans: Sequence[CommitSpan]) -> None:
    for span in spans:
        category.store.delete(path_of(category, span))


def _delete_unreadable(category: Category, spans: Sequence[CommitSpan]) -> None:
    """They are made again, since now there is a gap."""
    for span in spans:
        with suppress(FileNotFoundError):
            try:
                read(category, span)
            except CorruptFile:
                category.store.delete(path_of(category, span))
