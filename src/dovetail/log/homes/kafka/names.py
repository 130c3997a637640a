"""What the home holds, by the records of its topic of names, folded in their order.

    key                value
    path               the file as it is now: written, or replaced by a later record of the same key
    path \\n id         a file that was created; of several the first one counts
    (either)           no value: it is gone

Law: all processes that have folded the records up to the same one know the same files. So a writer that
creates a file learns from the records whether it was the first, and all others learn the same. A topic has
one order for everybody, however long somebody sleeps: this is what keeps a commit from being replaced.

Why creations have keys of their own: the topic is compacted, and keeps the last record of a key. Under one
key, a writer that came too late would replace the one before it. What lost is taken back by its writer, or
with the file that won. If a writer dies in between and the file goes at the same moment, its record may stay
and count from then on, as if it had been created later. The log does not believe such a file: a commit's
number that was used before is below what `first.json` says.

A record's value is a line of JSON (`dovetail.file`, as `document.py` has it) and, after it, the content if
that is small. Otherwise the line says which messages of which topic hold it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import Entry
from dovetail.model import json_values as said

KIND, VERSION = "dovetail.file", 1
CREATED = "\n"
"""Between the path and the id of what was created; no path has it."""
_REMEDY = "restore the record from a copy of the topic"


class FilePart(NamedTuple):
    """A message that holds a part of a file."""

    offset: int
    bytes: int


class Named(NamedTuple):
    """A file of the home. `content`, or the `parts` of `topic` in their order. `final`: nobody replaces it.
    `id` is new for each writing. `damage`: why its record cannot be read."""

    key: str
    id: str
    size: int
    final: bool = False
    content: bytes | None = None
    topic: str = ""
    parts: tuple[FilePart, ...] = ()
    modified_s: float = 0.0
    offset: int = -1
    damage: DovetailError | None = None


def encoded(file: Named) -> bytes:
    body: dict[str, Any] = {"id": file.id, "size": file.size, "final": file.final}
    if file.content is None:
        body |= {"topic": file.topic, "parts": [list(part) for part in file.parts]}
    return document.encode(KIND, VERSION, body).rstrip(b"\n") + b"\n" + (file.content or b"")


def decoded(key: str, value: bytes, *, where: str) -> Named:
    line, _, content = value.partition(b"\n")
    body = document.decode(line, KIND, (VERSION,), where=where, remedy=_REMEDY)
    try:
        size, id_ = said.whole(body["size"]), said.text(body["id"])
        made = Named(key, id_, size, final=said.flag(body["final"]))
        if "parts" not in body:
            if len(content) != size:
                raise ValueError(f"{len(content)} bytes of {size}")
            return made._replace(content=content)
        parts = tuple(FilePart(said.whole(at), said.whole(n)) for at, n in body["parts"])
        if sum(part.bytes for part in parts) != size or content:
            raise ValueError("its messages do not add up")
        return made._replace(topic=said.text(body["topic"]), parts=parts)
    except (ValueError, KeyError, TypeError) as error:
        what = f"the record of a file says nothing of use: {error}"
        raise CorruptFile(what, where=where, hint=_REMEDY) from None


class Names:
    """The files of a home, as of the last record that was folded."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folders: dict[str, dict[str, Named]] = {}
        # By path: keys of creations that came too late, or were replaced.
        self._late: dict[str, set[str]] = {}

    def fold(self, key: str, value: bytes | None, *, offset: int, written_s: float) -> Named | None:
        """Take in one record. Returns the file that is no longer there because of it."""
        path, created, _ = key.partition(CREATED)
        folder, _, name = path.rpartition("/")
        before = self.get(path)
        if value is None:
            self._no_longer_late(path, key)
            if before is None or before.key != key:
                return None
            del self._folders[folder][name]
            if not self._folders[folder]:
                del self._folders[folder]
            return before
        if created and before is not None:
            if before.key != key:
                self._late.setdefault(path, set()).add(key)
            return None
        if before is not None and before.key != key:
            self._late.setdefault(path, set()).add(before.key)  # until the file goes, and it with it
        where = f"{self._root}/{path}"
        try:
            found = decoded(key, value, where=where)
        except DovetailError as error:
            found = Named(key, "", len(value), damage=error)
        files = self._folders.setdefault(folder, {})
        files[name] = found._replace(offset=offset, modified_s=written_s)
        return before

    def _no_longer_late(self, path: str, key: str) -> None:
        if keys := self._late.get(path):
            keys.discard(key)
            if not keys:
                del self._late[path]

    def get(self, path: str) -> Named | None:
        folder, _, name = path.rpartition("/")
        return self._folders.get(folder, {}).get(name)

    def keys(self, path: str) -> list[str]:
        """Those of all records that a file has: what counts, and what came too late."""
        found = self.get(path)
        return [*([found.key] if found else []), *sorted(self._late.get(path, ()))]

    def inside(self, folder: str) -> dict[str, Named]:
        return self._folders.get(folder.rstrip("/"), {})

    def entries(self, folder: str) -> list[Entry]:
        return [Entry(name, one.size, one.modified_s) for name, one in self.inside(folder).items()]

    def folders(self, folder: str) -> list[str]:
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        below = (one[len(prefix) :] for one in self._folders if one.startswith(prefix))
        return sorted({one.partition("/")[0] for one in below if one})
