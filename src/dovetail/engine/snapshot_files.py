"""Law: a snapshot is found as long as one of its two copies is sound. A step waits for the home's disk or
network only if the recovery path would get long otherwise.

Each step writes its snapshot to the task's own host first, beside the live index. There it serves the next
start on this host, a task that runs again, and other tasks when hot keys are dealt again. A thread copies it
to the home. A run that stops cleanly copies what is left.

Why a lost copy costs time and no rows. An offset names its recovery path: the second-newest step whose
snapshots are all in the home, and every step since. If a host dies before its snapshot was copied, the state
is rebuilt from that earlier step, and the steps since run again (`store.py`). They find the same rows:
retention keeps every commit from the start of the path on (`JoinOffset.needed`). They take the same ones:
each step's offset is part of the path. When the path has become long, the step itself waits for its copy, so
the number of steps to repeat stays bounded.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dovetail.crash_points import crash_point
from dovetail.engine.copying import send
from dovetail.engine.home_snapshots import NAME, HomeSnapshots
from dovetail.engine.live_index import index_root, join_directory
from dovetail.errors import CorruptFile, DovetailError, StateError
from dovetail.joins.snapshot import Snapshot, decode_snapshot, encode_snapshot, snapshot_totals
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

LONG_WAY = 8
"""Once a rebuild would have to repeat this many steps, the next step waits until its snapshot is in the
home."""


class SnapshotFiles(HomeSnapshots):
    """The snapshots of one join, on this host and in the home."""

    def __init__(self, config: JoinConfig) -> None:
        super().__init__(config)
        self._here = (
            join_directory(index_root(config.index_dir), config.home, config.state_path) / "snapshots"
        )

    def write(self, offset: JoinOffset, task: int, snapshot: Snapshot) -> None:
        name = _name(offset, task)
        data = encode_snapshot(snapshot, name)
        self._write_here(name, data)
        # The step before stays too: if this step is planned again, it starts from there.
        self._forget_here(before=offset.step - 1)
        self._home.make_folder(self._folder)
        # Without a base there is nothing earlier to recover from: this copy must arrive before the step
        # counts.
        waits = offset.base is None or len(offset.trail) >= LONG_WAY
        if waits:
            self._home.replace(f"{self._folder}/{name}", data)
        else:
            send(self._home, f"{self._folder}/{name}", data)

    def read(self, offset: JoinOffset, task: int) -> Snapshot:
        """From this host if it has the file as it was written, else from the home."""
        name = _name(offset, task)
        # Any trouble with the local copy is only a reason to read the other one. A torn or foreign file is
        # recognized: the checksum covers all of it, and the file repeats its own name.
        with contextlib.suppress(OSError, DovetailError):
            return decode_snapshot((self._here / name).read_bytes(), name, where=str(self._here / name))
        path = f"{self._folder}/{name}"
        where = f"{self._home.root}/{path}"
        try:
            return decode_snapshot(self._home.read(path), name, where=where)
        except FileNotFoundError:
            raise StateError(
                "the state of the join is missing",
                where=where,
                expected="a snapshot of the last step, or of one of the few before it",
                hint="restore the home, or start the application in a new one",
            ) from None

    def totals(self, offset: JoinOffset, task: int) -> dict[str, int]:
        """The running totals of a task, to show while a join runs."""
        name = _name(offset, task)
        with contextlib.suppress(OSError, DovetailError):
            return snapshot_totals((self._here / name).read_bytes(), name, where=str(self._here / name))
        path = f"{self._folder}/{name}"
        return snapshot_totals(self._home.buffer(path), name, where=f"{self._home.root}/{path}")

    def totals_in_home(self, name: str) -> dict[str, int]:
        path = f"{self._folder}/{name}"
        return snapshot_totals(self._home.buffer(path), name, where=f"{self._home.root}/{path}")

    def copy_all(self) -> None:
        """At a clean stop: copy the newest snapshots that the home does not have yet."""
        there = {entry.name for entry in self._home.files(self._folder)}
        steps = [step for _, step in self._all_here()]
        for file, step in self._all_here():
            if file.name not in there and step == max(steps):
                with contextlib.suppress(FileNotFoundError, CorruptFile):
                    data = file.read_bytes()
                    decode_snapshot(data, file.name, where=str(file))
                    self._home.replace(f"{self._folder}/{file.name}", data)

    def _write_here(self, name: str, data: bytes) -> None:
        """Not synced: this copy only has to survive the process. If the host dies and comes back with half a
        file, the checksum fails and the home's copy is read."""
        self._here.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._here, delete=False) as temporary:
            temporary.write(data)
        crash_point("local_snapshot", "whole")
        os.replace(temporary.name, self._here / name)
        crash_point("local_snapshot", "named")

    def _forget_here(self, *, before: int) -> None:
        for file, step in self._all_here():
            if step < before:
                file.unlink(missing_ok=True)

    def _all_here(self) -> Iterator[tuple[Path, int]]:
        for file in sorted(self._here.glob("*.snapshot")):
            if match := NAME.fullmatch(file.name):
                yield file, int(match[2])


def _name(offset: JoinOffset, task: int) -> str:
    return f"{offset.version}.{task}-of-{offset.tasks}.snapshot"
