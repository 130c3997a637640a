"""Law: a live index is used only at the version that its header names, and only as it was saved. Otherwise it
is rebuilt from snapshots and the log.

Spark's Python workers are not sticky: a bucket group may run in another process at every step. So the rings
are in files that all processes of a host map. `header.json` names the files and the state's version. A step
removes the header before it changes anything, and writes a new one when it is done. A crash in between leaves
no header, and that means rebuild.

The files are memory that happens to have a name: they are not synced. A crash of a process leaves them whole,
because the kernel keeps the pages. A crash of the machine may not, so the header carries the host's boot id,
and an index from before the last boot is not trusted.

Damage. The header has a checksum, and repeats what each ring records about itself: where it begins and ends,
how many rows it holds, and their fingerprint, which the kernels update with every row that comes or goes
(`kernels/fingerprint.py`). A process that maps a ring for the first time reads all of it once: do the rows
give the fingerprint, is every link sound (`kernels.ring.intact`)? So it finds whatever happened to the file
before (flipped bits, zeroed or moved ranges, a file that is cut, swapped or outdated), and the index is
rebuilt. For a ring that it has mapped already it checks at every step that the file is the same one, has its
size, and agrees with the header. Rows that change while they are mapped are like errors in its own memory;
the next process finds them. The sorted runs of a theta join are in files of their own (`run_files.py`), which
the header names. If one of them is missing, both sides are indexed again from the rings. Nothing in a file
can make a process that attaches it crash or hang.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.crash_points import crash_point
from dovetail.engine import run_files
from dovetail.engine.index_folders import boot_id
from dovetail.engine.shared_memory import mapped, reserve
from dovetail.errors import DovetailError, StateError
from dovetail.joins.buffer import Buffer
from dovetail.joins.sample import Sample
from dovetail.joins.state import JoinState
from dovetail.joins.step_input import LiveState
from dovetail.joins.streams import Times
from dovetail.joins.theta.runs import SortedRun
from dovetail.kernels import ring as rings
from dovetail.kernels.ring import BLOCK_ROWS, ENTRY, Ring
from dovetail.log import document
from dovetail.model.join_kind import JoinKind, kind_to_json
from dovetail.model.share import SIDES, Side

KIND, VERSION = "dovetail.index", 7

RINGS = ("left", "right", "sampled_left", "sampled_right")
_MOST_HALVINGS = 16  # of the sample: its bits of the hash


class _RingFile(NamedTuple):
    """A ring as the header describes it. `meta` is the ring's own description: its first fields."""

    name: str
    capacity: int
    with_best: bool
    meta: tuple[int, ...]


class _Mapped(NamedTuple):
    """A ring in this process's memory, and which file that is."""

    name: str
    inode: int
    ring: Ring


MAPPED: dict[str, _Mapped] = {}
"""Rings this process has mapped, by directory and side: mapping one again would fault in all of its pages."""


class _Header(NamedTuple):
    """What `header.json` says, checked. One of another host or release does not count as a header."""

    state: str
    join_kind: Any
    generation: int
    rings: dict[str, _RingFile]
    halvings: int
    lows: tuple[int, int]  # of the sample
    totals: dict[str, int]
    runs: dict[str, list[run_files.RunFile]]

    @classmethod
    def of(cls, body: dict[str, Any]) -> _Header:
        """Raises KeyError, TypeError or ValueError for what `save` cannot have written."""
        files = {side: _RingFile(*body["rings"][side]) for side in RINGS}
        names = [re.fullmatch(rf"{side}-\d+-[0-9a-f]{{32}}\.ring", file.name) for side, file in files.items()]
        lows = tuple(body["lows"])
        whole = [body["generation"], body["halvings"], *lows, *(file.capacity for file in files.values())]
        whole += [*(number for file in files.values() for number in file.meta), *body["totals"].values()]
        sound = (
            body["boot"] == boot_id()
            and all(names)
            and all(type(number) is int for number in whole)
            and all(file.capacity > 0 and file.capacity % BLOCK_ROWS == 0 for file in files.values())
            and all(type(file.with_best) is bool for file in files.values())
            and 0 <= body["halvings"] <= _MOST_HALVINGS
            and len(lows) == len(SIDES)
        )
        if not sound:
            raise ValueError("not a header of this host")
        return cls(
            body["state"],
            body["join_kind"],
            body["generation"],
            files,
            body["halvings"],
            (lows[0], lows[1]),
            body["totals"],
            run_files.checked(body["runs"]),
        )


@dataclass
class LiveIndex:
    """The directory of one bucket group's index."""

    directory: Path
    join_kind: JoinKind
    _generation: int = 0
    _files: dict[str, tuple[str, int, bool]] = field(default_factory=dict)
    _rings: dict[str, Ring] = field(default_factory=dict)
    _runs: dict[Side, list[SortedRun]] = field(default_factory=dict)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """One step at a time: a second copy of a task waits here."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def attach(self, version: str, times: Times) -> LiveState | None:
        """The state at that version with its running totals, or None. From here on the index is dirty."""
        # The header goes first, whether it fits or not: the step changes the rings in place, and from the
        # first changed row on they are at no version. Only `save` may declare them to be at one again.
        header = self._take_header()
        if header is None or header.state != version or header.join_kind != kind_to_json(self.join_kind):
            self._forget()
            return None
        buffers = {}
        for side, file in header.rings.items():
            ring = self._saved(side, file)
            if ring is None:
                self._forget()
                return None
            self._files[side], self._rings[side] = file[:3], ring
            buffers[side] = Buffer(side, ring, self.allocate)
        self._generation = header.generation
        self._runs.update(run_files.load(self.directory, header.runs))
        state = JoinState(self.join_kind.state_spec, buffers["left"], buffers["right"], times)
        sample = Sample(buffers["sampled_left"], buffers["sampled_right"], header.halvings, *header.lows)
        return LiveState(state, sample, header.totals, self._runs)

    def fresh(self, times: Times) -> LiveState:
        """An empty state with its rings in this index. It replaces whatever was there."""
        self._take_header()
        self._forget()
        state = JoinState.empty(self.join_kind.state_spec, self.allocate)
        state.times = times
        return LiveState(state, Sample.empty(self.allocate), {}, self._runs)

    def save(self, version: str, totals: dict[str, int], sample: Sample) -> None:
        """Declare the mapped rings to be the state of that version."""
        body = {
            "boot": boot_id(),
            "state": version,
            "join_kind": kind_to_json(self.join_kind),
            "generation": self._generation,
            "rings": {side: [*file, _meta(self._rings[side])] for side, file in self._files.items()},
            "halvings": sample.halvings,
            "lows": [sample.left_low, sample.right_low],
            "totals": totals,
            "runs": run_files.save(self.directory, self._runs),
        }
        with tempfile.NamedTemporaryFile("wb", dir=self.directory, delete=False) as temporary:
            temporary.write(document.encode(KIND, VERSION, body))
        crash_point("index", "whole")
        # From this rename on the index is the state of the new version. All that the header names is in
        # place: the rings are changed in memory that every process sees, the runs were written above.
        os.replace(temporary.name, self.directory / "header.json")
        crash_point("index", "named")
        # Rings that were replaced go only now. A process that still has one mapped keeps its pages, and will
        # not mistake a new file for it: no name is used twice.
        kept = {name for name, _, _ in self._files.values()}
        for file in self.directory.glob("*.ring"):
            if file.name not in kept:
                file.unlink(missing_ok=True)

    def allocate(self, side: str, capacity: int, with_best: bool) -> Ring:
        """A new file of that size. The one that it replaces is deleted when the step is saved."""
        self._generation += 1
        name = f"{side}-{self._generation}-{uuid.uuid4().hex}.ring"  # never twice: others may have it mapped
        path = self.directory / name
        size = ring_layout(capacity, with_best)[-1]
        try:
            reserve(path, size)
        except OSError as error:
            path.unlink(missing_ok=True)
            if error.errno != errno.ENOSPC:
                raise
            raise StateError(
                f"no room for a join index of {size:,} bytes",
                where=str(self.directory),
                expected="about 30 to 60 bytes for each buffered row",
                hint="free space there, or set DOVETAIL_INDEX_DIR to a directory with more room",
            ) from error
        ring = self._map(side, name, capacity, with_best)
        assert ring is not None
        rings.clear(ring)
        self._files[side], self._rings[side] = (name, capacity, with_best), ring
        return ring

    def _saved(self, side: str, file: _RingFile) -> Ring | None:
        """The ring in a file as it was saved, or None."""
        known = MAPPED.get(f"{self.directory}/{side}")
        ring = self._map(side, file.name, file.capacity, file.with_best)
        if ring is None or _meta(ring) != list(file.meta):
            return None
        # A full check reads every row, so a process makes it once per ring. Afterwards only steps of this
        # index change the ring, and each of them updates the fingerprint that was just compared.
        new = known is None or known.ring is not ring
        return None if new and not rings.intact(ring) else ring

    def _map(self, side: str, name: str, capacity: int, with_best: bool) -> Ring | None:
        path = self.directory / name
        offsets = ring_layout(capacity, with_best)
        try:
            found = path.stat()
        except OSError:
            return None
        if found.st_size != offsets[-1]:
            # Touching mapped pages beyond a file's end raises SIGBUS, which Python cannot catch. Nothing
            # of ours changes the size after this look: ring files get it when they are made, are never
            # truncated, and keep it when they are unlinked while mapped.
            return None
        cached = MAPPED.get(f"{self.directory}/{side}")
        # The inode too: a file that was put in place of ours under its name is not the one we have mapped.
        if cached is not None and cached[:2] == (name, found.st_ino):
            return cached.ring
        if cached is None:  # a join or a group that is new here: others may have gone meanwhile
            unmap_removed(self.directory.parent.parent)
        memory = mapped(path)
        kinds: tuple[Any, ...] = (np.int64, np.uint32, np.int64, np.int64, ENTRY, np.int64, np.int64)
        ring = Ring(
            *(
                np.asarray(memory[low:high]).view(kind)
                for low, high, kind in zip(offsets, offsets[1:], kinds, strict=False)
            )
        )
        MAPPED[f"{self.directory}/{side}"] = _Mapped(name, found.st_ino, ring)
        return ring

    def _take_header(self) -> _Header | None:
        path = self.directory / "header.json"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        finally:  # also if it could not be read: what is unreadable now must not be believed later
            path.unlink(missing_ok=True)
            crash_point("index", "deleted")
        try:
            body = document.decode(data, KIND, VERSION, where=str(path), remedy="it is made again")
            return _Header.of(body)
        except (DovetailError, KeyError, TypeError, ValueError, AttributeError):
            return None

    def _forget(self) -> None:
        self._files.clear()
        self._rings.clear()
        self._runs.clear()
        run_files.forget(self.directory)
        for side in RINGS:
            MAPPED.pop(f"{self.directory}/{side}", None)
        for file in self.directory.glob("*.ring"):
            file.unlink(missing_ok=True)


def _meta(ring: Ring) -> list[int]:
    """A ring's own description, as the header repeats it."""
    fields: list[int] = ring.meta[: rings.META_FIELDS].tolist()
    return fields


def ring_layout(capacity: int, with_best: bool) -> list[int]:
    """Byte offsets of the arrays of a ring in its file, and the file's size."""
    best = 8 * capacity if with_best else 0
    sizes = (
        64,
        4 * rings.heads_for(capacity),
        8 * (capacity // BLOCK_ROWS),
        8 * (capacity // BLOCK_ROWS),
        ENTRY.itemsize * capacity,
        best,
        best,
    )
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return offsets


def unmap_all() -> None:
    """Unmap everything. The next step maps it again, and checks it."""
    MAPPED.clear()
    run_files.unmap_all()


def groups_at(join: Path, tasks: int, version: str) -> list[int]:
    """The bucket groups of a join whose indexes on this host are at a version. They are not taken."""
    return [task for task in range(tasks) if _version(join / f"{task}-of-{tasks}") == version]


def drop_others(join: Path, tasks: int, versions: Collection[str]) -> None:
    """Remove the indexes of a join that are at none of these versions, because their groups have moved to
    another host: no step resumes from them, and they would hold memory for good."""
    for group in (join / f"{task}-of-{tasks}" for task in range(tasks)):
        if group.is_dir() and _version(group) not in versions:
            _empty(group, versions)


def unmap_removed(below: Path) -> None:
    """Unmap what this process has mapped of files in a folder that are gone: they hold their memory until
    then."""
    for name, found in [(name, found) for name, found in MAPPED.items() if name.startswith(f"{below}/")]:
        if not (Path(name).parent / found.name).exists():
            MAPPED.pop(name, None)
    run_files.unmap_removed(below)


def _version(group: Path) -> str | None:
    """That of the state in a group's index; None if there is none, or a step changes it now."""
    path = group / "header.json"
    try:
        body = document.decode(path.read_bytes(), KIND, VERSION, where=str(path), remedy="it is made again")
        return _Header.of(body).state
    except (OSError, DovetailError, KeyError, TypeError, ValueError, AttributeError):
        return None


def drop_other_groupings(group: Path) -> None:
    """Remove the indexes that a join had with another number of tasks: no step resumes from them, and they
    would hold memory for good. If a late copy of a task still uses one, it stays until the next time."""
    for other in group.parent.glob("*-of-*"):
        if _grouping(other.name) != _grouping(group.name):
            _empty(other)


def _empty(group: Path, unless: Collection[str] = ()) -> None:
    """Remove an index, unless a task uses it at this moment or has just brought it to one of these
    versions."""
    with suppress(OSError), open(group / "lock", "w") as lock:
        # Not blocking: waiting for a task that hangs would stop this one. The lock file itself stays, or
        # two processes could each hold a lock on a different file of that name.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if unless and _version(group) in unless:
            return
        for file in (group / "header.json", *group.glob("*.ring"), *group.glob("*.run")):
            file.unlink(missing_ok=True)


def unmap_other_groupings(group: Path) -> None:
    """Unmap what this process has mapped of them: a deleted file holds its memory while it is mapped."""
    join = f"{group.parent}/"
    others = [
        name
        for name in MAPPED
        if name.startswith(join) and _grouping(Path(name).parent.name) != _grouping(group.name)
    ]
    for name in others:
        del MAPPED[name]
    run_files.unmap_other_groupings(group)


def _grouping(name: str) -> str:
    return name.rpartition("-of-")[2]
