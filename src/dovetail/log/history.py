"""Reading the chain of commits: where it begins and ends, and what is in between.

Law: commit numbers are dense from the first commit to the next one. A reader never meets a hole without an
error, which says whether retention removed the commit, it is lost, or it is not written yet.

A commit is a file of its own while it is young. Later compaction puts it into a bundle and deletes the file
(`compaction.py`). `first.json` says up to where that has happened, and every reader of a commit's file reads
`first.json` after it. So it does no harm if a slow writer creates a file under a number that was used,
bundled and deleted meanwhile: the reader sees that the number is bundled and takes the bundle's commit, and
the writer sees it too and removes its file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from dovetail.errors import CorruptFile, LogTruncated, StateError
from dovetail.log import bundle as bundle_format
from dovetail.log import commit as commit_format
from dovetail.log import document
from dovetail.log.bundle import Bundle, CommitSpan
from dovetail.log.cache import BUNDLES, CACHES, COMMITS
from dovetail.log.commit import Commit
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.first", 2
READ_VERSIONS = (1, 2)
"""Version 1 has no bundles."""

_COMMIT = re.compile(r"(\d{20})\.json")
_LAST_NUMBER = 10**18
_LOOKS = 5
"""Compaction may move a file while a reader looks for it. It moves twice in its life."""
_NEXT: dict[str, int] = {}
"""By category identity: a number that the next commit's is known not to be below."""


class _Spans:
    """Bundles by where they begin, wider ones first. While a wider bundle replaces several, both have the
    commit. The wider one stays, so that is the one to look in."""

    def __init__(self, spans: list[CommitSpan]) -> None:
        self.all = spans
        self._begins = [span.first for span in spans]
        self._reaching: list[CommitSpan] = list(accumulate(spans, _further))

    def holding(self, number: int) -> CommitSpan | None:
        at = bisect_right(self._begins, number)
        found = self._reaching[at - 1] if at else None
        return found if found is not None and number < found.stop else None


def _further(one: CommitSpan, other: CommitSpan) -> CommitSpan:
    return other if other.stop > one.stop else one


_SPANS: dict[str, _Spans] = {}
"""By category identity: the bundles that were there when somebody last looked."""


def forget() -> None:
    """Forget everything that this process has read of logs, as if it had just started."""
    _NEXT.clear()
    _SPANS.clear()
    for cache in CACHES:
        cache.clear()


class LogBounds(NamedTuple):
    """Commits below `first` are gone. Those from there up to `bundled` are in bundles, if any are."""

    first: int
    bundled: int


def commit_path(category: Category, number: int) -> str:
    return f"{category.folder}/commits/{number:020d}.json"


def listed(category: Category) -> list[int]:
    """The numbers of all commit files, ascending."""
    names = category.store.names(f"{category.folder}/commits")
    return sorted(int(match[1]) for name in names if (match := _COMMIT.fullmatch(name)))


def bounds(category: Category) -> LogBounds:
    """What `first.json` says."""
    path = f"{category.folder}/first.json"
    try:
        data = category.store.read(path)
    except FileNotFoundError:
        return LogBounds(0, 0)
    where = f"{category.store.root}/{path}"
    remedy = f"run `dovetail log trim {category.name}`: it finds the first commit again by looking"
    body = document.decode(data, KIND, READ_VERSIONS, where=where, remedy=remedy)
    try:
        first = said.whole(body.get("first_commit"), high=_LAST_NUMBER)
        bundled = said.whole(body.get("bundled", first), high=_LAST_NUMBER)
    except ValueError as error:
        raise CorruptFile(f"the file names no commit: {error}", where=where, hint=remedy) from None
    if body.get("category") != category.id:
        raise CorruptFile("the file belongs to another category", where=where, hint=remedy)
    return LogBounds(first, bundled)


def record_bounds(category: Category, new: LogBounds) -> None:
    body = {"category": category.id, "first_commit": new.first, "bundled": new.bundled}
    category.store.replace(f"{category.folder}/first.json", document.encode(KIND, VERSION, body))


def next_commit(category: Category, known: int = 0) -> int:
    """The number that the next commit will get: looks upward from the last number known, or lists once.

    The newest commits are always files of their own, so the list is short and has the last one. If the files
    at the known number are gone, compaction or retention has passed it, and the list is needed again.
    """
    number = max(known, _NEXT.get(category.id, 0))
    if number == 0:
        number = _next_listed(category)
    elif not _exists(category, number) and not _exists(category, number - 1):
        if (end := _next_listed(category)) < number:
            raise StateError(
                f"category {category.name} has {end} commits, but {number} were read or written before",
                where=category.where,
                expected=f"commit {number - 1}",
                hint="the category was deleted or replaced: start its readers and writers afresh",
            )
        number = end
    while _exists(category, number):
        number += 1
    _NEXT[category.id] = number
    return number


def commits(category: Category, start: int, stop: int) -> list[Commit]:
    """Commits `start..stop-1`, read and checked."""
    found = list(picked(category, range(start, stop)).values())
    for before, after in pairwise(found):
        if after.first_row != before.next_row:
            raise CorruptFile(
                f"the rows of commit {after.number} begin with {after.first_row}",
                where=f"{category.store.root}/{commit_path(category, after.number)}",
                expected=f"row {before.next_row}, where the commit before it ends",
                hint="restore the file, or the one before it, from a copy",
            )
    return found


def picked(category: Category, numbers: Sequence[int]) -> dict[int, Commit]:
    """Commits by their numbers, in any order, read and checked. The oldest of them must still be there."""
    found: dict[int, Commit] = {}
    fresh: list[int] = []
    files: list[int] = []
    for number in numbers:
        if number in found:
            continue
        commit = COMMITS.get((category.id, number))
        if commit is None:
            commit, is_file = _read(category, number)
            fresh.append(number)
            if is_file:
                files.append(number)
        found[number] = commit
    if not found:
        return found
    # Only now: a file below these bounds may be one that a slow writer left there for a moment.
    known, oldest = bounds(category), min(found)
    if oldest < known.first:
        raise truncated(category, oldest, known.first)
    for number in files:
        if number < known.bundled:
            found[number] = _bundled_or_missing(category, number)
    for number in fresh:
        COMMITS.put((category.id, number), found[number], _memory(found[number]))
    return found


def _memory(commit: Commit) -> int:
    """Bytes of memory that a commit takes, about: most of it are the numbers of its sketches."""
    numbers = sum(8 * len(info.rows_per_bucket) + 80 * len(info.sketch.means) for info in commit.segments)
    return 2048 + 2048 * len(commit.files) + numbers


def moved(category: Category, number: int) -> Commit | None:
    """The commit as it is placed now, for a reader that found one of its files gone; None if it is gone."""
    COMMITS.drop((category.id, number))
    _SPANS.pop(category.id, None)
    found = bundle_of(category, number)
    return found.commit(number, category.id) if found else None


def bundle_of(category: Category, number: int, *, look: bool = True) -> Bundle | None:
    """The bundle that holds a commit. Without `look`, only among those known in this process."""
    for _ in range(_LOOKS):
        if category.id not in _SPANS:
            if not look:
                return None
            _SPANS[category.id] = _Spans(bundle_format.listed(category))
        having = _SPANS[category.id].holding(number)
        if having is None:
            if not look:
                return None
            spans = _Spans(bundle_format.listed(category))
            if spans.all == _SPANS[category.id].all:
                return None
            _SPANS[category.id] = spans
            continue
        with suppress(FileNotFoundError):
            return opened(category, having)
        _SPANS.pop(category.id, None)
        look = True
    return None


def opened(category: Category, span: CommitSpan) -> Bundle:
    """A bundle, read and checked once per process; FileNotFoundError if it is gone."""
    key = category.id, span.name
    found = BUNDLES.get(key)
    if found is None:
        found = bundle_format.read(category, span)
        BUNDLES.put(key, found, 0 if category.store.local else found.lines.size)
    return found


def forget_bundles(category: Category, spans: Iterable[CommitSpan]) -> None:
    """The bundles were written or deleted by this process."""
    _SPANS.pop(category.id, None)
    for span in spans:
        BUNDLES.drop((category.id, span.name))


def truncated(category: Category, number: int, first: int) -> LogTruncated:
    return LogTruncated(
        f"commit {number} of category {category.name} was removed by retention",
        where=category.where,
        expected=f"a commit from {first} on",
        hint="start the reader afresh at the first commit that is there; a reader that registers its floor "
        "keeps what it needs",
    )


def _exists(category: Category, number: int) -> bool:
    return category.store.size(commit_path(category, number)) is not None


def _next_listed(category: Category) -> int:
    return max(listed(category), default=bounds(category).first - 1) + 1


def _read(category: Category, number: int) -> tuple[Commit, bool]:
    """A commit, and whether it was read from a file of its own."""
    if (bundle := bundle_of(category, number, look=False)) is not None:
        return bundle.commit(number, category.id), False
    path = commit_path(category, number)
    where = f"{category.store.root}/{path}"
    try:
        return commit_format.decode(category.store.read(path), number, category.id, where=where), True
    except FileNotFoundError:
        return _bundled_or_missing(category, number), False


def _bundled_or_missing(category: Category, number: int) -> Commit:
    """The commit from a bundle, or the error that says why it is not there."""
    if (bundle := bundle_of(category, number)) is not None:
        return bundle.commit(number, category.id)
    if number < (first := bounds(category).first):
        raise truncated(category, number, first)
    if number >= (end := _next_listed(category)):
        raise StateError(
            f"category {category.name} has no commit {number} yet",
            where=category.where,
            expected=f"a commit below {end}",
            hint="read as far as the log goes; if files were restored from an older copy, start the readers "
            "afresh",
        )
    raise CorruptFile(
        "a commit is missing",
        where=f"{category.store.root}/{commit_path(category, number)}",
        hint="restore the file from a copy; without it readers can only start after this commit",
    )
