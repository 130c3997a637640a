"""Making rows exist: one commit names what was written before, atomically and once.

Law: after any number of calls with the same producer and batch, by any number of writers and with crashes
anywhere, the log holds the batch once or, if no call has returned, perhaps not at all.

Why: the commit's file is created only if its number is free, and the producers' last batches were read from
the commit just before it. A writer that loses the number reads again, and then finds the other's batch.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dovetail.errors import CorruptFile, StateError
from dovetail.log import commit as commit_format
from dovetail.log import dictionary, generations, history, retention
from dovetail.log.commit import Commit, RejectedRows, SegmentInfo, place
from dovetail.model.offset import ENDED
from dovetail.model.promise import Promise

if TYPE_CHECKING:
    from dovetail.log.category import Category

_WRITE_AGAIN = "all writers must see the same home, and nothing else may delete from it; write again"


def append(
    category: Category,
    segments: Sequence[SegmentInfo],
    rejected: Sequence[RejectedRows],
    *,
    producer: str | None,
    batch: int | None,
    promise: Promise | None = None,
    covers: Mapping[str, Any] | None = None,
) -> Commit | None:
    if (producer is None) != (batch is None):
        raise ValueError("producer and batch go together")
    segments = [info for info in segments if info.rows]
    rejected = [info for info in rejected if info.rows]
    if promise is not None and producer is None:
        raise ValueError("a promise needs a producer")
    if not segments and not rejected and promise is None and covers is None:
        return None
    checked = lost = False
    while True:
        number = history.next_commit(category)
        tail = category.commit(number - 1) if number else None
        producers = dict(tail.producers) if tail else {}
        if producer is not None and batch is not None:
            if producers.get(producer, -1) >= batch:
                found = commit_of(category, producer, batch, number)
                if lost and not category.store.local and not _is_ours(found, segments):
                    raise _overtaken(category, producer, batch)
                return found
            producers[producer] = batch
        promises = dict(tail.promises) if tail else {}
        if producer is not None:
            if not segments and not rejected and covers is None and promises.get(producer) == promise:
                return None  # no row and no news
            if promise is None:
                promises.pop(producer, None)  # its old promise no longer holds
            else:
                promises[producer] = promise
        if not checked:
            _check_written(category, segments, rejected)
            checked = True
        first_row = tail.next_row if tail else 0
        commit = Commit(
            number=number,
            first_row=first_row,
            segments=place(segments, first_row, number),
            rejected=tuple(rejected),
            producer=producer,
            batch=batch,
            producers=producers,
            written_at_us=time.time_ns() // 1000,
            promises=promises,
            covers=covers,
        )
        with _dictionaries_kept(category, segments):
            entered = _entered(category, commit)
        if entered:
            retention.tend(category, number)
            return commit
        lost = lost or entered is None


def _entered(category: Category, commit: Commit) -> bool | None:
    """Whether the commit is in the category. None: another writer was faster."""
    path = history.commit_path(category, commit.number)
    if not category.store.create(path, commit_format.encode(commit, category.id)):
        return None
    # Read after the file was created. If this number was used while this writer slept, and its file was
    # bundled or trimmed, then `first.json` said so before that file went, and says so now.
    if commit.number >= max(history.bounds(category)):
        return True
    category.store.delete(path)  # readers who saw it read `first.json` too, and do not believe it
    return False


def pass_promises_on(
    category: Category, gone: Collection[str], heirs: Collection[str], columns: Collection[str]
) -> Commit | None:
    """Let the promises of producers end, and hold for their heirs, of these columns and others. An heir who
    has one of its own keeps it. None if there is nothing to pass on."""
    while True:
        number = history.next_commit(category)
        if number == 0:
            return None
        tail = category.commit(number - 1)
        known = {name: one for name, one in tail.promises.items() if not one.has_ended}
        ending = {name: one for name, one in known.items() if name in gone}
        if not ending:
            return None
        passed = _together(ending.values())
        said = {column for promise in ending.values() for column in promise.times}
        ended = Promise(dict.fromkeys({*said, *columns}, ENDED), passed.by)
        promises = {**tail.promises, **dict.fromkeys(ending, ended)}
        for heir in heirs:
            if heir not in known and (heir not in tail.producers or heir in tail.promises):
                promises[heir] = passed
        commit = replace(
            tail,
            number=number,
            first_row=tail.next_row,
            segments=(),
            rejected=(),
            producer=None,
            batch=None,
            written_at_us=time.time_ns() // 1000,
            promises=promises,
            covers=None,
        )
        if _entered(category, commit):
            retention.tend(category, number)
            return commit


def _together(promises: Iterable[Promise]) -> Promise:
    """What holds for the rows of all of them."""
    said = list(promises)
    columns = set.intersection(*(set(one.times) for one in said))
    by = ", ".join(sorted({one.by for one in said}))
    return Promise({column: min(one.times[column] for one in said) for column in columns}, by)


def _is_ours(commit: Commit, segments: Sequence[SegmentInfo]) -> bool:
    """It names what we have written: the store did what we asked for, but its answer was lost."""
    return {info.name for info in commit.segments} == {info.name for info in segments}


def _overtaken(category: Category, producer: str, batch: int) -> StateError:
    """On a home without locks a producer is one run, which holds a lease. That another one appended this very
    batch between our look and our write means that it has the lease now."""
    return StateError(
        f"batch {batch} of {producer} was appended by another run while this one was asleep",
        where=category.where,
        expected="one run of an application at a time",
        hint="nothing was overwritten: stop this run, the other one goes on",
    )


def commit_of(category: Category, producer: str, batch: int, stop: int) -> Commit:
    """The first commit by which `producer` had appended `batch`: its last batch only grows, so bisect."""
    low, high = history.bounds(category).first, stop - 1
    while low < high:
        middle = (low + high) // 2
        if category.commit(middle).producers.get(producer, -1) >= batch:
            high = middle
        else:
            low = middle + 1
    return category.commit(low)


def _check_written(
    category: Category, segments: Sequence[SegmentInfo], rejected: Sequence[RejectedRows]
) -> None:
    """A commit never names a file that is not there, nor a schema."""
    for generation in {info.generation for info in segments}:
        generations.schema_of(category, generation)
    named = [(f"segments/{info.name}", info.bytes) for info in segments]
    named += [(f"rejected/{info.file}", info.bytes) for info in rejected]
    for path, size in named:
        found = category.store.size(f"{category.folder}/{path}")
        if found != size:
            raise CorruptFile(
                "cannot commit: a file is missing" if found is None else "cannot commit: a file is cut short",
                where=f"{category.where}/{path}",
                expected=f"{size} bytes, not {found or 0}",
                hint=_WRITE_AGAIN,
            )


@contextmanager
def _dictionaries_kept(category: Category, segments: Sequence[SegmentInfo]) -> Iterator[None]:
    """While a commit names dictionaries, retention, which deletes those that none names, waits: a slow writer
    may have used one that was the newest when it began."""
    used = {info.packing.dictionary for info in segments if info.packing} - {None}
    if not used:
        yield
        return
    with retention.locked(category):
        for id_ in used:
            path = dictionary.path_of(category, str(id_))
            if category.store.size(path) is None:
                raise CorruptFile(
                    "cannot commit: a dictionary is missing that segments were compressed with",
                    where=f"{category.store.root}/{path}",
                    hint=_WRITE_AGAIN,
                )
        yield
