"""The sorted runs of a theta join's index, in files beside its rings, so that any process of the host can
continue with them.

Law: either every run reads back as it was written, or none is used. Without them both sides are indexed
again from the rings and the log, which costs time and no row.

A file is written once, under a name that is never used again, and never changed. The header of the live index
names the files of its version, each with its checksum. A process verifies the checksum when it first maps a
file. Like the rings, the files are memory with a name: they are not synced.
"""

from __future__ import annotations

import errno
import re
import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from dovetail.errors import StateError
from dovetail.joins.theta.runs import SortedRun
from dovetail.model.share import SIDES, Side

Runs = dict[Side, list[SortedRun]]
_NAME = re.compile(r"[0-9a-f]{32}\.run")
_mapped: dict[str, SortedRun] = {}
"""Runs that this process has mapped or made, by path."""


class RunFile(NamedTuple):
    """A run as the header describes it."""

    name: str
    rows: int
    lines: tuple[int, ...]
    words: int
    nullable: bool
    loose: bool
    checksum: int

    @classmethod
    def of(cls, said: list[Any]) -> RunFile:
        """Raises TypeError or ValueError for what `save` cannot have written."""
        name, rows, lines, words, nullable, loose, checksum = said
        whole = [rows, words, checksum, *lines]
        sound = (
            _NAME.fullmatch(name) is not None
            and all(type(number) is int for number in whole)
            and rows > 0
            and 0 <= words < 1 << 16
            and sorted(lines) == list(range(len(lines)))
            and type(nullable) is bool
            and type(loose) is bool
        )
        if not sound:
            raise ValueError("not a run")
        return cls(name, rows, tuple(lines), words, nullable, loose, checksum)

    @property
    def size(self) -> int:
        flags = self.words * self.rows if self.nullable else 0
        return 8 * self.rows * (1 + len(self.lines) + self.words) + flags


def save(directory: Path, indexed: Runs) -> dict[str, list[list[Any]]]:
    """Write the runs that are in no file yet. Returns what the header has to say about all of them."""
    said: dict[str, list[list[Any]]] = {
        side: [list(_saved(directory, run)) for run in runs] for side, runs in indexed.items()
    }
    kept = {one[0] for files in said.values() for one in files}
    for file in directory.glob("*.run"):
        if file.name not in kept:
            file.unlink(missing_ok=True)
    _forget_others(directory, kept)
    return said


def checked(said: dict[str, Any]) -> dict[str, list[RunFile]]:
    """Raises KeyError, TypeError or ValueError for what `save` cannot have said."""
    if not set(said) <= set(SIDES):
        raise ValueError("not the sides of a join")
    return {side: [RunFile.of(one) for one in files] for side, files in said.items()}


def load(directory: Path, files: dict[str, list[RunFile]]) -> Runs:
    """The runs; none at all if one of them is not as it was saved."""
    indexed: Runs = {}
    for side in SIDES:
        if side not in files:
            continue
        runs = [_loaded(directory, file) for file in files[side]]
        if any(run is None for run in runs):
            return {}
        indexed[side] = [run for run in runs if run is not None]
    return indexed


def forget(directory: Path) -> None:
    for file in directory.glob("*.run"):
        file.unlink(missing_ok=True)
    _forget_others(directory, set())


def unmap_all() -> None:
    _mapped.clear()


def unmap_other_groupings(group: Path) -> None:
    """Unmap the runs that the same join had with another number of tasks."""
    tasks = group.name.rpartition("-of-")[2]
    for path in [path for path in _mapped if path.startswith(f"{group.parent}/")]:
        if Path(path).parent.name.rpartition("-of-")[2] != tasks:
            del _mapped[path]


def unmap_removed(below: Path) -> None:
    """Unmap the runs in a folder whose files are gone."""
    for path in [path for path in _mapped if path.startswith(f"{below}/") and not Path(path).exists()]:
        del _mapped[path]


def _forget_others(directory: Path, kept: set[str]) -> None:
    for path in [path for path in _mapped if path.startswith(f"{directory}/")]:
        if Path(path).name not in kept:
            del _mapped[path]


def _saved(directory: Path, run: SortedRun) -> RunFile:
    described = RunFile(run.name, len(run), run.lines, len(run.words), run.nullable, run.loose, run.checksum)
    if run.name:
        return described
    run.name = f"{uuid.uuid4().hex}.run"
    digest = xxhash.xxh3_64()
    try:
        with open(directory / run.name, "wb") as file:
            for part in (run.rows, run.values, run.words, run.there):
                data = np.ascontiguousarray(part).tobytes()
                digest.update(data)
                file.write(data)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise StateError(
            f"no room for a part of a join index of {described.size:,} bytes",
            where=str(directory),
            expected="about 30 to 60 bytes for each buffered row",
            hint="free space there, or set DOVETAIL_INDEX_DIR to a directory with more room",
        ) from error
    run.checksum = digest.intdigest()
    _mapped[str(directory / run.name)] = run
    return described._replace(name=run.name, checksum=run.checksum)


def _loaded(directory: Path, file: RunFile) -> SortedRun | None:
    path = directory / file.name
    try:
        size = path.stat().st_size
    except OSError:
        return None
    if size != file.size:
        return None
    known = _mapped.get(str(path))
    if known is not None and known.checksum == file.checksum:
        return known
    memory = np.memmap(path, np.uint8, "c")  # as if it could be written: kernels know one kind of array
    if xxhash.xxh3_64_intdigest(memory.data) != file.checksum:
        return None
    edges = np.cumsum([0, 1, len(file.lines), file.words]) * 8 * file.rows
    rows, values, words = (
        np.asarray(memory[low:high]).view(np.int64).reshape(-1, file.rows)
        for low, high in pairwise(edges.tolist())
    )
    flags = np.asarray(memory[edges[-1] :])
    if flags.max(initial=0) > 1:
        return None
    there = flags.view(np.bool_).reshape(-1, file.rows)
    run = SortedRun(rows[0], values, file.lines, words, there, file.loose, file.name, file.checksum)
    _mapped[str(path)] = run
    return run
