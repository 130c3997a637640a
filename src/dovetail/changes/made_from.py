"""What a query was made from: whether it includes what others have changed meanwhile.

    version 1 ──► ada.pql becomes version 2 ──► bob.pql, made from version 1 as well: would undo what Ada did

No record says which version a query was made from, so its file decides. A file was made from the last version
that came from it. If it was edited and saved later, its author knew of their own changes until then, by a
rollback or with another file. A file that has never become a version may be made from anything. It counts as
older than the current version if that belongs to somebody else, or was made after the file was saved.

Law: a person who edits one file and runs it again is never refused, nor is a query that agrees with the
current version wherever others have changed it."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dovetail.changes.verdict import Change
from dovetail.changes.versions import Version, lineage
from dovetail.errors import StateError

_LOOKED_AT = 50
"""Versions that are read to find the last that came from a file. On an object store each takes time."""


@dataclass(frozen=True)
class Origin:
    """The file that a query comes from, with the host it is on. `saved_at_us`: None: not known."""

    name: str
    saved_at_us: int | None = None


def origin_at(path: str) -> Origin:
    """For a file on this host, by its whole path."""
    try:
        saved_at_us: int | None = os.stat(path).st_mtime_ns // 1000
    except OSError:
        saved_at_us = None
    return Origin(f"{socket.gethostname()}:{path}", saved_at_us)


def require_known(
    home: str,
    application: str,
    current: int,
    origin: Origin,
    author: str,
    changes: Sequence[Change],
    text: str | None,
) -> None:
    """Raise an error if a query from this file changes what another has changed meanwhile. `text`: what the
    file says now."""
    versions = list(islice(lineage(home, application, current), _LOOKED_AT))
    found = overlooked(versions, origin, author, changes, text)
    if not found:
        return
    said = "".join(
        f"\n            {version_words(one)}: {change.part}: {change.what}" for one, change in found
    )
    file = Path(origin.name.partition(":")[2]).name
    raise StateError(
        f"{file} would change what others have changed since it was run or saved:{said}",
        where=home,
        expected=f"a query made from version {current} of {application}",
        hint=f"`dovetail versions {application} {current}` shows its query. If yours has all that you want "
        f"of it, start it with --parent {current}",
    )


def version_words(version: Version) -> str:
    return f"version {version.number} by {version.author}"


def overlooked(
    versions: Sequence[Version], origin: Origin, author: str, changes: Sequence[Change], text: str | None
) -> list[tuple[Version, Change]]:
    """What others have changed and these changes touch again. `versions`: the present one first."""
    touched = {(change.rule, change.part) for change in changes}
    return [
        (version, change)
        for version in _unknown_to(versions, origin, author, text)
        for change in version.changes
        if (change.rule, change.part) in touched
    ]


def _unknown_to(
    versions: Sequence[Version], origin: Origin, author: str, text: str | None
) -> Sequence[Version]:
    saved_at_us = origin.saved_at_us
    for number, version in enumerate(versions):
        if version.origin == origin.name:
            edited = text != version.text  # not by its time: it may be copied again for each start
            until_us = saved_at_us if edited and saved_at_us is not None else -1
            return [one for one in versions[:number] if one.author != author or one.made_at_us > until_us]
    return [
        version
        for version in versions[:1]
        if version.author != author or (saved_at_us is not None and saved_at_us < version.made_at_us)
    ]
