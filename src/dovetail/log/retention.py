"""How far back the log reaches: readers' floors, limits of age and size, and what may be deleted.

Laws. Nothing is deleted before `first.json` says that it is gone, so a crash leaves garbage and never a hole.
Nothing is deleted that a live reader needs. Without a reader only limits delete (`limits.py`). The newest
commit always stays: it carries the row count and the producers' batches.

A reader that registers while retention runs is safe: the reader writes its floor and then reads `first.json`;
retention writes `first.json` and then reads the floors again. So the second of the two sees the first.

A reader is live until its application is gone from the home, or until it has not renewed its mark for longer
than the category keeps rows. A mark without an application is live until somebody drops it. A mark with a
lease is live only while it is renewed: nothing may pile up for its reader.
"""

from __future__ import annotations

import time
import urllib.parse
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import bundle as bundle_format
from dovetail.log import checkpoints, compaction, dictionary, document, generations, history, ledger
from dovetail.log import commit as commit_format
from dovetail.log.cache import SWEPT
from dovetail.log.commit import Commit
from dovetail.log.history import LogBounds
from dovetail.log.homes.filesystem import TEMPORARY
from dovetail.log.limits import Limits, limits_of, role_of
from dovetail.log.source_progress import FOLDER as PROGRESS
from dovetail.log.table import STORED, WRITTEN
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.reader", 2
READ_VERSIONS = (1, 2)
"""Version 1 does not say whose reader it is."""
GRACE_S = 24 * 3600.0
"""A file that no commit names may still be on its way into one, for this long."""
TENDED_EVERY_S = 600.0

_TENDED_S: dict[str, float] = {}
"""By category identity: when this process last tended it, or first saw it."""


@dataclass(frozen=True)
class KnownReader:
    """A reader's mark. `gone`: why it no longer holds anything back; None if it still does."""

    name: str
    needs_commit: int
    application: str | None
    gone: str | None


def set_reader(
    category: Category,
    reader: str,
    needs_commit: int,
    application: str | None,
    lease_s: float | None = None,
) -> None:
    body: dict[str, Any] = {
        "category": category.id,
        "reader": reader,
        "needs_commit": needs_commit,
        "application": application,
    }
    if lease_s is not None:
        body["lease_s"] = lease_s
    category.store.replace(_reader_path(category, reader), document.encode(KIND, VERSION, body))
    if needs_commit < (first := history.bounds(category).first):
        raise history.truncated(category, needs_commit, first)


def drop_reader(category: Category, reader: str) -> None:
    category.store.delete(_reader_path(category, reader))


def readers(category: Category, now_s: float | None = None) -> list[KnownReader]:
    """All readers that left a mark, by name."""
    store, folder = category.store, f"{category.folder}/readers"
    remedy = "delete the file if its reader is gone; otherwise the reader writes it again soon"
    now_s = time.time() if now_s is None else now_s
    age_us = limits_of(category).age_us
    applications: list[str] | None = None
    found = []
    for entry in store.files(folder):
        if entry.name.startswith(TEMPORARY) or not entry.name.endswith(".json"):
            continue
        where = f"{store.root}/{folder}/{entry.name}"
        try:
            body = document.decode(
                store.read(f"{folder}/{entry.name}"), KIND, READ_VERSIONS, where=where, remedy=remedy
            )
            if body["category"] != category.id:
                continue  # a reader of an older category of this name counts no more
            name, application = said.text(body["reader"]), body.get("application")
            if entry.name != _reader_path(category, name).rpartition("/")[2]:
                raise ValueError(f"it is that of reader {name}")
            needs, gone = said.whole(body["needs_commit"]), None
            if application is not None:
                if applications is None:
                    applications = store.folders("apps")
                if said.text(application) not in applications:
                    gone = f"application {application} is no longer in this home"
            if age_us is not None and (now_s - entry.modified_s) * 1e6 > age_us:
                gone = gone or "it has not read for longer than the category keeps rows"
            lease_s = body.get("lease_s")
            if lease_s is not None and now_s - entry.modified_s > said.real(lease_s):
                gone = gone or "it has not renewed its lease"
            found.append(KnownReader(name, needs, application, gone))
        except FileNotFoundError:
            continue  # dropped meanwhile
        except (KeyError, TypeError, ValueError) as error:
            what = f"the file does not say what its reader needs: {error}"
            raise CorruptFile(what, where=where, hint=remedy) from error
    return sorted(found, key=lambda reader: reader.name)


def retain(category: Category, *, now_us: int | None = None) -> int:
    """Delete what no live reader needs, or, where there is none, what is beyond the limits. Then put old
    files together. Returns how many commits went."""
    with locked(category) as held:
        return _retain(category, _now_us(now_us), after_reading=True) if held else 0


def compact(category: Category) -> bool:
    """Put some more old files together; whether there was anything to do."""
    with locked(category) as held:
        if not held:
            return False
        known = _bounds_or_repaired(category)
        return compaction.compact(category, known) != known


def tend(category: Category, number: int) -> None:
    """After commit `number` was appended: now and then, delete what is beyond the limits and put old files
    together. Rows that all have read stay within the limits, for people to look at.

    Errors do not concern the writer, whose rows are committed. They are reported where retention is called.
    """
    now_s = time.monotonic()
    due = (number + 1) % compaction.SHAPE.span == 0
    if not due and now_s - _TENDED_S.setdefault(category.id, now_s) < TENDED_EVERY_S:
        return
    _TENDED_S[category.id] = now_s
    with suppress(DovetailError, FileNotFoundError):
        # Without locks one process trims a category: of a join's side that is the join.
        if not category.store.locks and role_of(category) == "side":
            return
        with locked(category, wait=False) as held:
            if held:
                _retain(category, _now_us(None), after_reading=False)
        if (number + 1) % (compaction.SHAPE.span * compaction.SHAPE.fan) == 0:
            remove_orphans(category)


def locked(category: Category, *, wait: bool = True) -> AbstractContextManager[bool]:
    """While this is held, retention deletes nothing. On an object store another process may hold it for long;
    then deleting is left to that process, or to the next one."""
    return category.store.lock(f"{category.folder}/retain.lock", wait=wait)


def remove_orphans(category: Category, *, grace_s: float = GRACE_S) -> int:
    """Delete files that no commit names and that are older than `grace_s`; returns how many went."""
    # List before reading the commits: a file that is committed in between is then seen to be named.
    named_by_commits = ("segments", "rejected", bundle_format.PACKS)
    candidates = [
        f"{part}/{entry.name}"
        for part in (
            *named_by_commits,
            "commits",
            "readers",
            PROGRESS,
            bundle_format.FOLDER,
            checkpoints.FOLDER,
            generations.FOLDER,
            ".",
        )
        for entry in category.store.files(f"{category.folder}/{part}".removesuffix("/."))
        if time.time() - entry.modified_s > grace_s
        and (part in named_by_commits or entry.name.startswith(TEMPORARY))
    ]
    with locked(category) as held:
        dictionaries = _delete_dictionaries(category, grace_s) if held else 0
    if not candidates:
        return dictionaries
    known = history.bounds(category)
    named = set()
    for span in bundle_format.listed(category):
        bundle = history.opened(category, span)
        named |= {f"{bundle_format.PACKS}/{pack}" for pack in bundle.packs}
        for number in bundle.apart:
            named |= {one.own_path for one in bundle.commit(number, category.id).files}
    for commit in category.commits(max(known), category.next_commit()):
        named |= {one.own_path for one in commit.files}
    orphans = [path for path in candidates if path not in named]
    for path in orphans:
        category.store.delete(f"{category.folder}/{path.removeprefix('./')}")
    return len(orphans) + dictionaries


def _retain(category: Category, now_us: int, *, after_reading: bool) -> int:
    old = _bounds_or_repaired(category)
    first = _first_kept(category, old, now_us, after_reading)
    if first > old.first:
        history.record_bounds(category, old._replace(first=first))
        # A reader may have come in between. It reads `first.json` after it has written its floor: either it
        # saw the new record and gave up, or its floor is seen here, before anything is deleted.
        if (again := max(old.first, min([first, *_floors(category, now_us)]))) < first:
            first = again
            history.record_bounds(category, old._replace(first=first))
    new = old._replace(first=first)
    _delete_below(category, old, new)
    # Readers report what cannot be read. A file may also be gone because another process, on a store without
    # locks, has compacted the same commits. Neither is a reason to stop: the next run looks again.
    with suppress(CorruptFile, FileNotFoundError):
        compaction.compact(category, new)
    return new.first - old.first


def _floors(category: Category, now_us: int) -> list[int]:
    """The commits that live readers need."""
    return [mark.needs_commit for mark in readers(category, now_us / 1e6) if mark.gone is None]


def _first_kept(category: Category, old: LogBounds, now_us: int, after_reading: bool) -> int:
    """The first commit to keep: no live reader needs one before it, and the newest always stays."""
    floors = _floors(category, now_us)
    needed = min([category.next_commit() - 1, *floors])
    if after_reading and (floors or _is_abandoned(category)):
        return max(old.first, needed)
    return max(old.first, min(needed, _first_within(category, old, needed, now_us)))


def _is_abandoned(category: Category) -> bool:
    """The side of a join is of use to its application alone: with that gone, so is the side."""
    return role_of(category) == "side" and bool(readers(category))


def _first_within(category: Category, old: LogBounds, stop: int, now_us: int) -> int:
    """The first commit within the limits, up to `stop`. Each commit that goes is looked at once. One that
    cannot be read is as old as its neighbours, and has no size."""
    limits, first = limits_of(category), old.first
    if stop <= first or limits == Limits(None, None):
        return first
    try:
        known = ledger.covering(category, first, category.next_commit())
    except CorruptFile:
        return _first_readable_within(category, old, stop, now_us)
    if limits.age_us is not None:
        first = known.first_from(WRITTEN, now_us - limits.age_us, first, stop)
    if limits.size_bytes is not None:
        after = known.between(STORED, stop, category.next_commit())  # what stays in any case
        first = known.first_holding(STORED, limits.size_bytes - after, first, stop)
    return first


def _first_readable_within(category: Category, old: LogBounds, stop: int, now_us: int) -> int:
    """The same, one by one, where some commits cannot be read."""
    limits, first = limits_of(category), old.first
    if limits.age_us is not None:
        for number in range(first, stop):
            commit = _readable(category, number)
            if commit is not None and commit.written_at_us >= now_us - limits.age_us:
                break
            if commit is not None:
                first = number + 1
    if limits.size_bytes is not None and first < stop:
        over = _stored_bytes(category, old._replace(first=first)) - limits.size_bytes
        while first < stop and over > 0:
            commit = _readable(category, first)
            over -= commit.stored_bytes if commit else 0
            first += 1
    return first


def _stored_bytes(category: Category, known: LogBounds) -> int:
    """Bytes that all commits from the first on name: bundles have added up theirs."""
    total, at = 0, known.first
    while at < known.bundled and (bundle := history.bundle_of(category, at)) is not None:
        total += sum(bundle.sizes[at - bundle.span.first :])
        at = bundle.span.stop
    young = (_readable(category, number) for number in range(at, category.next_commit()))
    return total + sum(commit.stored_bytes for commit in young if commit)


def _readable(category: Category, number: int) -> Commit | None:
    try:
        return category.commit(number)
    except CorruptFile:
        return None


def _bounds_or_repaired(category: Category) -> LogBounds:
    """The recorded bounds; if the record is corrupt, those of the unbroken run up to the newest commit."""
    try:
        return history.bounds(category)
    except CorruptFile:
        numbers = set(history.listed(category))
        spans = bundle_format.listed(category)
        bundled = max((span.stop for span in spans), default=0)
        first = max(numbers, default=bundled)
        while first - 1 in numbers and first > bundled:
            first -= 1
        if first <= bundled:
            for span in reversed(spans):
                if span.first < first <= span.stop:
                    first = span.first
        found = LogBounds(first, bundled)
        history.record_bounds(category, found)
        return found


def _delete_below(category: Category, old: LogBounds, new: LogBounds) -> None:
    """All that is gone by the bounds. What earlier runs that died have left is looked for when this process
    has not done so yet, and whenever a bundle is over: listing all files costs as much as there are."""
    if SWEPT.get(category.id) == old and _within_a_bundle(category, old, new):
        SWEPT.put(category.id, new)
        return
    SWEPT.put(category.id, new)
    checkpoints.delete_below(category, new.first)
    gone = False
    for span in compaction.delete_covered(category, bundle_format.listed(category)):
        if span.first >= new.first:
            break
        gone = True
        whole = span.stop <= new.first
        _delete_apart(category, span, range(span.first if whole else old.first, new.first))
        if whole:
            compaction.delete_bundle(category, span)
    for number in history.listed(category):
        if number < new.first:
            _delete_commit(category, number)
            gone = True
        elif number < new.bundled:
            compaction.delete_bundled_files(category, [number])
    if gone:
        _delete_dictionaries(category, GRACE_S)


def _within_a_bundle(category: Category, old: LogBounds, new: LogBounds) -> bool:
    """Whether all that goes are commits of one bundle, and not all of them, or nothing. If so, their large
    files are deleted here."""
    if old.first == new.first:
        return True
    bundle = history.bundle_of(category, old.first, look=False)
    if bundle is None or not old.first < new.first < min(bundle.span.stop, new.bundled):
        return False
    _delete_apart(category, bundle.span, range(old.first, new.first))
    return True


def _delete_apart(category: Category, span: bundle_format.CommitSpan, numbers: range) -> None:
    """The large files of commits in a bundle, which are files of their own."""
    with suppress(FileNotFoundError, DovetailError):  # unreadable: they go with the orphans
        bundle = history.opened(category, span)
        for number in range(max(numbers.start, span.first), min(numbers.stop, span.stop)):
            if bundle.is_apart(number):
                for one in bundle.commit(number, category.id).files:
                    if one.place is None:
                        category.store.delete(f"{category.folder}/{one.path}")


def _delete_commit(category: Category, number: int) -> None:
    """The commit's file goes last: until then the next run still finds what it names."""
    path = history.commit_path(category, number)
    try:
        commit = commit_format.decode(category.store.read(path), number, category.id, where=path)
    except (FileNotFoundError, DovetailError):
        commit = None  # unreadable: what it named is orphaned, and goes with the orphans
    if commit is not None:
        for one in commit.files:
            category.store.delete(f"{category.folder}/{one.own_path}")
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
    known = history.bounds(category)
    for span in bundle_format.listed(category):
        old -= {f"{id_}.json" for id_ in history.opened(category, span).dictionaries}
    for commit in category.commits(max(known), category.next_commit()):
        old -= {f"{info.packing.dictionary}.json" for info in commit.segments if info.packing}
    for name in old:
        category.store.delete(f"{category.folder}/{dictionary.FOLDER}/{name}")
    return len(old)


def _reader_path(category: Category, reader: str) -> str:
    return f"{category.folder}/readers/{urllib.parse.quote(reader, safe='')}.json"


def _now_us(now_us: int | None) -> int:
    return time.time_ns() // 1000 if now_us is None else now_us
