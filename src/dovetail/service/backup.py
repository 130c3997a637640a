"""A copy of a whole home, and a home from a copy.

    ask every run to make room ──► hold every application ──► copy ──► let go

Law: a copy is what a home was at one moment, or it does not exist. While it is made nobody runs an
application: runs of the service end cleanly and are started again, and those who append to the log are not
kept waiting. A category is copied commits first, then the files that they name, so that rows which come
meanwhile are left out whole. Every file is listed with its checksum, and the copy gets its name when all is
there.

Files of a home are never written to, only replaced. So on the same disk a copy is made of links, in seconds.
What belongs to a host and not to the data is left out: locks, processes, the daemon's own database.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import xxhash

from dovetail.engine.handover import WAITED_S, ask
from dovetail.engine.hold import running
from dovetail.errors import CorruptFile, InputError, RunError
from dovetail.log import document
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.applications import is_running

KIND, VERSION = "dovetail.backup", 1
MANIFEST = "backup.json"
_LEFT_OUT = ("service/processes", "service/pools", "service/ends", "service/ledger.sqlite", "service/logs")
_NAMES = ("lock", "lease.json", "handover.json", "handover-answer.json", "spark.log")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Backup:
    """`files`: by path in the home, size and checksum."""

    made_at_us: int
    home: str
    files: dict[str, tuple[int, str]]

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self.files.values())


def back_up(home: str, place: Path) -> Backup:
    """Copy a home to a folder that is not there yet."""
    root = _local(home)
    if place.exists():
        raise InputError(
            "the folder exists already", where=str(place), expected="the name of a new folder for the copy"
        )
    applications = open_store(home).folders("apps")
    draft = place.with_name(f".{place.name}-{uuid.uuid4().hex[:8]}")
    draft.mkdir(parents=True)
    try:
        with ExitStack() as held:
            for name in applications:
                if is_running(home, name):
                    ask(home, name)
            for name in applications:
                held.enter_context(running(home, name, wait_s=WAITED_S))
            files = dict(_copied(root, draft))
        found = Backup(time.time_ns() // 1000, str(root), files)
        _require_whole(draft)
        (draft / MANIFEST).write_bytes(document.encode(KIND, VERSION, asdict(found)))
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return found


def restore(place: Path, home: str) -> Backup:
    """Make a home from a copy. Every file is compared with its checksum before the home has its name."""
    root = _local(home)
    if root.exists() and any(root.iterdir()):
        raise InputError("the home is not empty", where=str(root), expected="a home that does not exist yet")
    found = read_backup(place)
    draft = root.with_name(f".{root.name}-{uuid.uuid4().hex[:8]}")
    try:
        for path, (size, checksum) in found.files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(place / path, target)
            except FileNotFoundError:
                raise _damaged(place / path, "it is missing") from None
            if (target.stat().st_size, _checksum(target)) != (size, checksum):
                raise _damaged(place / path, "it is not what was written")
        draft.mkdir(parents=True, exist_ok=True)
        if root.exists():
            root.rmdir()
        draft.rename(root)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return found


def read_backup(place: Path) -> Backup:
    path = place / MANIFEST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            "this is not a copy of a home, or the copy was not finished",
            where=str(place),
            expected=f"a folder that `dovetail backup` has made, with a file {MANIFEST}",
        ) from None
    body = document.decode(data, KIND, VERSION, where=str(path), remedy="use another copy")
    try:
        fields = said.fields(body, Backup.__dataclass_fields__)
        files = {
            _inside(path): (said.whole(size), said.text(checksum))
            for path, (size, checksum) in said.fields(fields["files"]).items()
        }
        return Backup(said.time_us(fields["made_at_us"]), said.text(fields["home"]), files)
    except (ValueError, TypeError) as error:
        raise CorruptFile(f"the list of files cannot be read: {error}", where=str(path)) from error


def _local(home: str) -> Path:
    if "://" in home:
        raise InputError(
            "a home on an object store is not copied by this command",
            where=home,
            expected="a home on a local disk",
            hint="let the store keep versions of objects, or copy the bucket while no application runs",
        )
    return Path(home).absolute()


def _copied(root: Path, draft: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    """Commits before the files that they name: see above."""
    for path in sorted(_files(root), key=lambda path: "/segments/" in path):
        target = draft / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _link_or_copy(root / path, target)
        except FileNotFoundError:
            continue  # replaced or retired meanwhile; `_require_whole` finds what is really missing
        yield path, (target.stat().st_size, _checksum(target))


def _files(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if _joined(inside, name) not in _LEFT_OUT]
        for name in names:
            path = _joined(inside, name)
            if not (name in _NAMES or name.startswith(".tmp-") or path.startswith(_LEFT_OUT)):
                yield path


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # another disk
        shutil.copyfile(source, target)


def _require_whole(draft: Path) -> None:
    """Every commit that was copied has its files. Another process looks: this one may know the same
    categories in the home that was copied, and what it knows of them goes by their ids."""
    looked = subprocess.run(
        [sys.executable, "-m", "dovetail.service.backup", str(draft)],
        capture_output=True,
        text=True,
        check=False,
    )
    if looked.returncode:
        raise RunError(
            "rows of the log went while it was copied",
            where=looked.stderr.strip().rpartition("\n")[2],
            expected="a log whose retention does not run meanwhile",
            hint="make the copy again",
        )


def _look(draft: str) -> None:
    for name in list_categories(draft):
        category = Category.open(draft, name)
        for commit in category.commits(category.first_commit(), category.next_commit()):
            for segment in commit.segments:
                category.open_segment(segment)


def _checksum(path: Path) -> str:
    found = xxhash.xxh3_64()
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            found.update(part)
    return found.hexdigest()


def _inside(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{path!r} leads out of the home")
    return path


def _damaged(path: Path, why: str) -> CorruptFile:
    return CorruptFile(f"the copy is damaged: {why}", where=str(path), hint="use another copy")


if __name__ == "__main__":
    _look(sys.argv[1])
