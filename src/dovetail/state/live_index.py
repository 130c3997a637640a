"""Law: a live index is used only at the version it says it has; in every other case it is rebuilt.

Spark's Python workers are not sticky: a bucket group lands now in this process, now in that one. So the rings
lie in files that all processes of a host map. `header.json` names the files and the state's version. It is
taken away when a step begins and written when the step is done: a crash in between leaves no header, and that
means rebuild.

The files are memory that happens to have a name: they are not synced. The header carries the boot id of the
host, so that an index which lived through a crash of the machine is not trusted.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from dovetail.crash_points import passing
from dovetail.errors import StateError
from dovetail.joins.buffer import Buffer
from dovetail.joins.interval import IntervalState, Times
from dovetail.joins.sample import Sample
from dovetail.kernels import ring as rings
from dovetail.kernels.ring import BLOCK_ROWS, ENTRY, Ring
from dovetail.log.filesystem import shown
from dovetail.model.interval import IntervalSpec

FORMAT = 2
_TMPFS = Path("/dev/shm")
_ROOM_BYTES = 1 << 30

_attached: dict[str, tuple[str, Ring]] = {}
"""Rings this process has mapped, by ring directory and side: mapping anew would fault every page in again."""


RINGS = ("left", "right", "sampled_left", "sampled_right")


class Attached(NamedTuple):
    """What lies in an index: the join's state, its sample and its running totals."""

    state: IntervalState
    sample: Sample
    totals: dict[str, int]


@dataclass
class LiveIndex:
    """The directory of one bucket group's index."""

    directory: Path
    spec: IntervalSpec
    _generation: int = 0
    _files: dict[str, tuple[str, int, bool]] = field(default_factory=dict)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """One step at a time: a second copy of a task waits here."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def attach(self, version: str, times: Times) -> Attached | None:
        """The state at that version with its running totals, or None. From here on the index is dirty."""
        header = self._take_header()
        if header is None or header.get("state") != version or header.get("spec") != self.spec.to_json():
            self._forget()
            return None
        buffers = {}
        for side in RINGS:
            name, capacity, with_best = header["rings"][side]
            ring = self._map(side, name, capacity, with_best)
            if ring is None:
                self._forget()
                return None
            self._files[side] = (name, capacity, with_best)
            buffers[side] = Buffer(side, ring, self.allocate)
        self._generation = header["generation"]
        state = IntervalState(self.spec, buffers["left"], buffers["right"], times)
        sample = Sample(buffers["sampled_left"], buffers["sampled_right"], header["halvings"])
        return Attached(state, sample, dict(header["totals"]))

    def fresh(self, times: Times) -> Attached:
        """An empty state with its rings in this index. What was there before is gone from here on."""
        self._take_header()
        self._forget()
        state = IntervalState.empty(self.spec, self.allocate)
        state.times = times
        return Attached(state, Sample.empty(self.allocate), {})

    def save(self, version: str, totals: dict[str, int], sample: Sample) -> None:
        """Declare the mapped rings to be the state of that version."""
        header = {
            "format": FORMAT,
            "boot": _boot_id(),
            "state": version,
            "spec": self.spec.to_json(),
            "generation": self._generation,
            "rings": self._files,
            "halvings": sample.halvings,
            "totals": totals,
        }
        with tempfile.NamedTemporaryFile("w", dir=self.directory, delete=False) as temporary:
            json.dump(header, temporary)
        passing("index", "whole")
        os.replace(temporary.name, self.directory / "header.json")
        passing("index", "named")
        kept = {name for name, _, _ in self._files.values()}
        for file in self.directory.glob("*.ring"):
            if file.name not in kept:
                file.unlink(missing_ok=True)

    def allocate(self, side: str, capacity: int, with_best: bool) -> Ring:
        """A new file of that size; the one it replaces goes when the step is saved."""
        self._generation += 1
        name = f"{side}-{self._generation}-{uuid.uuid4().hex}.ring"  # never twice: others may have it mapped
        path = self.directory / name
        size = _layout(capacity, with_best)[-1]
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            # Reserve the blocks now: writing into a mapped hole of a full disk would kill the process.
            os.posix_fallocate(descriptor, 0, size)
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
        finally:
            os.close(descriptor)
        ring = self._map(side, name, capacity, with_best)
        assert ring is not None
        rings.clear(ring)
        self._files[side] = (name, capacity, with_best)
        return ring

    def _map(self, side: str, name: str, capacity: int, with_best: bool) -> Ring | None:
        cached = _attached.get(f"{self.directory}/{side}")
        if cached is not None and cached[0] == name:
            return cached[1]
        path = self.directory / name
        offsets = _layout(capacity, with_best)
        if not path.exists() or path.stat().st_size != offsets[-1]:
            return None
        memory = np.memmap(path, np.uint8, "r+")
        kinds: tuple[Any, ...] = (np.int64, np.uint32, np.int64, ENTRY, np.int64, np.int64)
        ring = Ring(
            *(
                np.asarray(memory[low:high]).view(kind)
                for low, high, kind in zip(offsets, offsets[1:], kinds, strict=False)
            )
        )
        _attached[f"{self.directory}/{side}"] = (name, ring)
        return ring

    def _take_header(self) -> dict[str, Any] | None:
        path = self.directory / "header.json"
        try:
            header = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            return None
        finally:
            path.unlink(missing_ok=True)
            passing("index", "deleted")
        usable = (
            isinstance(header, dict) and header.get("format") == FORMAT and header.get("boot") == _boot_id()
        )
        return header if usable else None

    def _forget(self) -> None:
        self._files.clear()
        for side in RINGS:
            _attached.pop(f"{self.directory}/{side}", None)
        for file in self.directory.glob("*.ring"):
            file.unlink(missing_ok=True)


def _layout(capacity: int, with_best: bool) -> list[int]:
    """Byte offsets of the arrays of a ring in its file, and the file's size."""
    best = 8 * capacity if with_best else 0
    sizes = (
        64,
        4 * rings.heads_for(capacity),
        8 * (capacity // BLOCK_ROWS),
        ENTRY.itemsize * capacity,
        best,
        best,
    )
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return offsets


def index_root(chosen: str | None) -> Path:
    """Where indexes live on this host: the place that the run was told, else the one that this host's
    environment names, else a tmpfs with room, else the temporary directory."""
    chosen = chosen or os.environ.get("DOVETAIL_INDEX_DIR")
    if chosen:
        return Path(chosen)
    user = f"dovetail-{os.getuid()}"
    if _TMPFS.is_dir() and os.access(_TMPFS, os.W_OK) and shutil.disk_usage(_TMPFS).free > _ROOM_BYTES:
        return _TMPFS / user
    return Path(tempfile.gettempdir()) / user


def group_directory(root: Path, home: str, state_path: str, task: int, tasks: int) -> Path:
    """Indexes of different homes and joins never meet: the directory carries a digest of both."""
    return root / xxhash.xxh3_64_hexdigest(f"{home}\n{state_path}".encode()) / f"{task}-of-{tasks}"


def claim_directory(group: Path, home: str) -> None:
    """Note beside the groups of a join whose they are, for `sweep`."""
    owner = group.parent / "home"
    if not owner.exists():
        group.parent.mkdir(parents=True, exist_ok=True)
        owner.write_text(shown(home))


def sweep(root: Path) -> None:
    """Remove the indexes of homes that are gone: they would hold memory for good."""
    for owner in root.glob("*/home"):
        home = owner.read_text()
        if "://" not in home and not Path(home).exists():
            shutil.rmtree(owner.parent, ignore_errors=True)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"
