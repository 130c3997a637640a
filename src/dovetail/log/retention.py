"""How far back the log reaches: readers' floors, and what may be deleted.

Laws. Nothing is deleted before `first.json` says that it is gone, so a crash leaves garbage and never a hole.
No floor, no deletion. The newest commit always stays: it carries the row count and the producers' batches.

A reader that registers while retention runs is safe: the reader writes its floor and then reads `first.json`;
retention writes `first.json` and then reads the floors again. Whoever comes second sees the other.
"""

from __future__ import annotations

import time
import urllib.parse
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import commit as commit_format
from dovetail.log import dictionary, document, history
from dovetail.log.homes.filesystem import TEMPORARY
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.reader", 1
GRACE_S = 24 * 3600.0
"""A file that no commit names may still be on its way into one, for so long."""


def set_reader(category: Category, reader: str, needs_commit: int) -> None:
    body = {"category": category.id, "reader": reader, "needs_commit": needs_commit}
    category.store.replace(_reader_path(category, reader), document.encode(KIND, VERSION, body))
    if needs_commit < (first := history.first_commit(category)):
        raise history.truncated(category, needs_commit, first)


def drop_reader(category: Category, reader: str) -> None:
    category.store.delete(_reader_path(category, reader))


def readers(category: Category) -> dict[str, int]:
    """The lowest commit that each reader needs."""
    store, folder = category.store, f"{category.folder}/readers"
    remedy = "delete the file if its reader is gone; otherwise the reader writes it again at its next step"
    floors = {}
    for entry in store.files(folder):
        if entry.name.startswith(TEMPORARY) or not entry.name.endswith(".json"):
            continue
        where = f"{store.root}/{folder}/{entry.name}"
        try:
            body = document.decode(
                store.read(f"{folder}/{entry.name}"), KIND, VERSION, where=where, remedy=remedy
            )
            if body["category"] == category.id:  # a reader of an older category of this name counts no more
                reader = said.text(body["reader"])
                if entry.name != _reader_path(category, reader).rpartition("/")[2]:
                    raise ValueError(f"it is that of reader {reader}")
                floors[reader] = said.whole(body["needs_commit"])
        except FileNotFoundError:
            continue  # dropped meanwhile
        except (KeyError, TypeError, ValueError) as error:
            what = f"the file does not say what its reader needs: {error}"
            raise CorruptFile(what, where=where, hint=remedy) from error
    return floors


def retain(category: Category) -> int:
    """Delete what no reader needs; returns how many commits went."""
    with locked(category):
        old = _first_or_repaired(category)
        first = _lowest_needed(category, old)
        if first > old:
            history.record_first(category, first)
            if (again := _lowest_needed(category, old)) < first:
                first = again  # a reader came in between, and nothing is deleted yet
                history.record_first(category, first)
        gone = sorted(number for number in history.listed(category) if number < first)
        for number in gone:
            _delete_commit(category, number)
        if gone:
            _delete_dictionaries(category, GRACE_S)
        return len(gone)


def locked(category: Category) -> AbstractContextManager[None]:
    """While this is held, retention deletes nothing."""
    return category.store.lock(f"{category.folder}/retain.lock")


def remove_orphans(category: Category, *, grace_s: float = GRACE_S) -> int:
    """Delete files that no commit names and that are older than `grace_s`; returns how many went."""
    # List before reading the commits: a file that is committed in between is then seen to be named.
    candidates = [
        f"{part}/{entry.name}"
        for part in ("segments", "rejected", "commits", "readers", ".")
        for entry in category.store.files(f"{category.folder}/{part}".removesuffix("/."))
        if time.time() - entry.modified_s > grace_s
        and (part in ("segments", "rejected") or entry.name.startswith(TEMPORARY))
    ]
    with locked(category):
        dictionaries = _delete_dictionaries(category, grace_s)
    if not candidates:
        return dictionaries
    named = set()
    for commit in category.commits(category.first_commit(), category.next_commit()):
        named |= {f"segments/{segment.name}" for segment in commit.segments}
        named |= {f"rejected/{rejected.file}" for rejected in commit.rejected}
    orphans = [path for path in candidates if path not in named]
    for path in orphans:
        category.store.delete(f"{category.folder}/{path.removeprefix('./')}")
    return len(orphans) + dictionaries


def _lowest_needed(category: Category, old: int) -> int:
    """The first commit to keep: the lowest floor, but none that is gone, and never past the newest."""
    floors = readers(category).values()
    if not floors:
        return old
    return max(old, min(*floors, category.next_commit() - 1))


def _first_or_repaired(category: Category) -> int:
    """The recorded first commit; if the record is corrupt, the start of the unbroken run up to the newest."""
    try:
        return history.first_commit(category)
    except CorruptFile:
        present = set(history.listed(category))
        number = max(present, default=0)
        while number - 1 in present:
            number -= 1
        history.record_first(category, number)
        return number


def _delete_commit(category: Category, number: int) -> None:
    """The commit's file goes last: until then the next run still finds what it names."""
    path = history.commit_path(category, number)
    try:
        commit = commit_format.decode(category.store.read(path), number, category.id, where=path)
    except (FileNotFoundError, DovetailError):
        commit = None  # unreadable: what it named is orphaned, and goes with the orphans
    if commit is not None:
        for segment in commit.segments:
            category.store.delete(f"{category.folder}/segments/{segment.name}")
        for rejected in commit.rejected:
            category.store.delete(f"{category.folder}/rejected/{rejected.file}")
    category.store.delete(path)


def _delete_dictionaries(category: Category, grace_s: float) -> int:
    """Those that no commit names; a young one may be on its way into a commit."""
    old = {
        entry.name
        for entry in category.store.files(f"{category.folder}/{dictionary.FOLDER}")
        if time.time() - entry.modified_s > grace_s
    }
    if not old:
        return 0
    for commit in category.commits(category.first_commit(), category.next_commit()):
        old -= {f"{info.packing.dictionary}.json" for info in commit.segments if info.packing}
    for name in old:
        category.store.delete(f"{category.folder}/{dictionary.FOLDER}/{name}")
    return len(old)


def _reader_path(category: Category, reader: str) -> str:
    return f"{category.folder}/readers/{urllib.parse.quote(reader, safe='')}.json"
