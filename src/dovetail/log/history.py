"""Reading the chain of commits: where it begins and ends, and what is in between.

Law: commit numbers are dense from the first commit to the next one. A reader never meets a hole without an
error, which says whether the commit was removed by retention, is lost, or is not written yet.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from dovetail.errors import CorruptFile, LogTruncated, StateError
from dovetail.log import commit as commit_format
from dovetail.log import document
from dovetail.log.cache import COMMITS
from dovetail.log.commit import Commit
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.first", 1

_COMMIT = re.compile(r"(\d{20})\.json")
_LAST_NUMBER = 10**18
_NEXT: dict[str, int] = {}
"""By category identity: a number that the next commit's is known not to be below."""


def commit_path(category: Category, number: int) -> str:
    return f"{category.folder}/commits/{number:020d}.json"


def listed(category: Category) -> list[int]:
    """The numbers of all commit files, in no order."""
    entries = category.store.files(f"{category.folder}/commits")
    return [int(match[1]) for entry in entries if (match := _COMMIT.fullmatch(entry.name))]


def first_commit(category: Category) -> int:
    """The lowest commit number that is still there."""
    path = f"{category.folder}/first.json"
    try:
        data = category.store.read(path)
    except FileNotFoundError:
        return 0
    where = f"{category.store.root}/{path}"
    remedy = f"run `dovetail log trim {category.name}`: it finds the first commit again by looking"
    body = document.decode(data, KIND, VERSION, where=where, remedy=remedy)
    try:
        first = said.whole(body.get("first_commit"), high=_LAST_NUMBER)
    except ValueError as error:
        raise CorruptFile(f"the file names no commit: {error}", where=where, hint=remedy) from None
    if body.get("category") != category.id:
        raise CorruptFile("the file belongs to another category", where=where, hint=remedy)
    return first


def record_first(category: Category, number: int) -> None:
    body = {"category": category.id, "first_commit": number}
    category.store.replace(f"{category.folder}/first.json", document.encode(KIND, VERSION, body))


def next_commit(category: Category, known: int = 0) -> int:
    """The number that the next commit will get: looks upward from the last number known, or lists once."""
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
    found, fresh = [], []
    for number in range(start, stop):
        commit = COMMITS.get((category.id, number))
        if commit is None:
            commit = _read(category, number)
            fresh.append(commit)
        found.append(commit)
    # Only now: a file below the first commit may be one that a slow writer left there for a moment.
    if found and start < (first := first_commit(category)):
        raise truncated(category, start, first)
    for before, after in pairwise(found):
        if after.first_row != before.next_row:
            raise CorruptFile(
                f"the rows of commit {after.number} begin with {after.first_row}",
                where=f"{category.store.root}/{commit_path(category, after.number)}",
                expected=f"row {before.next_row}, where the commit before it ends",
                hint="restore the file, or the one before it, from a copy",
            )
    for commit in fresh:
        COMMITS.put((category.id, commit.number), commit)
    return found


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
    return max(listed(category), default=first_commit(category) - 1) + 1


def _read(category: Category, number: int) -> Commit:
    path = commit_path(category, number)
    where = f"{category.store.root}/{path}"
    try:
        return commit_format.decode(category.store.read(path), number, category.id, where=where)
    except FileNotFoundError:
        pass
    if number < (first := first_commit(category)):
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
        where=where,
        hint="restore the file from a copy; without it readers can only start after this commit",
    )
