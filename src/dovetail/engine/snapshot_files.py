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

Law: a snapshot costs as much as its step changed, however many rows are open. Where these are many, it holds
what changed since its pieces (`joins/snapshot.py`), up to INLINE_ROWS; then that becomes a piece itself.
Pieces of like size are put together in the background (`piece_merging.py`): so a row is written a few times
in its life and there are few pieces. One that has to be written whole is written as pieces at once. A piece
whose rows are all below the commits that the join may still need goes, as these commits do. In the home a
snapshot is there only after its pieces, and of each of these are two copies.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dovetail.crash_points import crash_point
from dovetail.engine.copying import Needed, bring, send
from dovetail.engine.home_snapshots import (
    NAME,
    NAMED_WITHIN,
    PIECES_LOOKED_AT,
    TWIN,
    HomeSnapshots,
    unnamed_pieces,
)
from dovetail.engine.index_folders import index_root, join_directory
from dovetail.engine.piece_merging import begin, due, with_merged
from dovetail.errors import CorruptFile, DovetailError, StateError
from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.changes import Changes, joined
from dovetail.joins.kind import Saves
from dovetail.joins.snapshot import (
    Snapshot,
    SnapshotPart,
    SnapshotPiece,
    decode_part,
    encode_part,
    encode_snapshot,
    put_together,
    snapshot_totals,
)
from dovetail.joins.state import JoinState
from dovetail.log.cache import Cache
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

INLINE_ROWS = 1 << 13
MAX_PIECE_ROWS = 1 << 20
_LAST: Cache[tuple[tuple[str, int, int] | None, SnapshotPart]] = Cache(max_entries=256, max_bytes=32 << 20)
"""By folder and task: the snapshot in parts that this process wrote last. The next step begins with it."""
_ROW_BYTES = 48
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
        """Write all of it."""
        name = _name(offset, task)
        self._write(offset, name, encode_snapshot(snapshot, name), ())

    def write_changes(
        self,
        offset: JoinOffset,
        task: int,
        parent: SnapshotPart,
        changed: SnapshotPart,
        lows: tuple[int, int],
        rows: int,
    ) -> bool:
        """Write what changed since `parent`, the snapshot of the step before. `lows`: rows with lower numbers
        are gone; `rows` are saved in all. False, and nothing is written, if all of it must be."""
        doer = str(self._here), task, offset.tasks
        pieces = with_merged(doer, offset.step, list(parent.pieces))
        pieces = [one for one in pieces if one.left_high >= lows[0] or one.right_high >= lows[1]]
        if sum(one.rows for one in pieces) > 2 * rows + INLINE_ROWS:
            return False  # mostly of rows that are gone
        since = _joined([parent, changed], lows, changed.totals)
        if since.size > INLINE_ROWS:
            for piece in _cut(since):
                pieces.append(self._piece_here(offset, task, piece))
            since = replace(since, left=Changes.nothing(), right=Changes.nothing())
        if many := due(pieces, INLINE_ROWS, MAX_PIECE_ROWS):
            begin(doer, offset.step, many, lambda: self._merged(offset, task, many, lows))
        return self._write_last(offset, task, since, pieces)

    def write_in_pieces(
        self, offset: JoinOffset, task: int, parts: Iterable[SnapshotPart], last: SnapshotPart
    ) -> None:
        """Write all of it as pieces, and `last`, which names them: so that the next step need not cut it."""
        pieces = [self._piece_here(offset, task, part) for part in parts]
        if not self._write_last(offset, task, last, pieces):
            raise StateError(
                "a piece of a snapshot was deleted while it was copied to the home",
                where=str(self._here),
                expected="the files that this step has just written",
                hint="let nobody else delete files there; the step runs again",
            )

    def _write_last(
        self, offset: JoinOffset, task: int, last: SnapshotPart, pieces: Sequence[SnapshotPiece]
    ) -> bool:
        name, part = _name(offset, task), replace(last, pieces=tuple(pieces))
        written = self._write(offset, name, encode_part(part, name), pieces)
        if written:
            _LAST.put((str(self._here), task), (self._stamp(name), part), part.size * _ROW_BYTES)
        return written

    def _piece_here(self, offset: JoinOffset, task: int, part: SnapshotPart) -> SnapshotPiece:
        # No name is used twice: a step that runs again may find other pieces merged, and cut differently. A
        # piece that the home has under a name would be taken for the other one.
        name = f"{offset.version}.{task}-of-{offset.tasks}.{uuid.uuid4().int}.piece"
        self._write_here(name, encode_part(part, name))
        return SnapshotPiece(name, part.size, part.left.high, part.right.high)

    def _merged(
        self, offset: JoinOffset, task: int, pieces: Sequence[SnapshotPiece], lows: tuple[int, int]
    ) -> SnapshotPiece:
        """Pieces that follow each other as one, in a file that no snapshot names yet."""
        part = _joined([self._part(piece.name) for piece in pieces], lows, {})
        return self._piece_here(offset, task, part)

    def _write(self, offset: JoinOffset, name: str, data: bytes, pieces: Sequence[SnapshotPiece]) -> bool:
        needs = self._needed(pieces)
        # Without a base there is nothing earlier to recover from: this copy must arrive before the step
        # counts.
        waits = offset.base is None or len(offset.trail) >= LONG_WAY
        self._home.make_folder(self._folder)
        if waits and not bring(self._home, needs):
            return False
        self._write_here(name, data)
        # The step before stays too: if this step is planned again, it starts from there.
        self._forget_here(before=offset.step - 1)
        if waits:
            self._home.replace(f"{self._folder}/{name}", data)
        else:
            send(self._home, f"{self._folder}/{name}", data, needs)
        return True

    def _needed(self, pieces: Sequence[SnapshotPiece]) -> list[Needed]:
        return [
            Needed(f"{self._folder}/{one.name}{copy}", self._here / one.name)
            for one in pieces
            for copy in ("", TWIN)
        ]

    def read(self, offset: JoinOffset, task: int) -> Snapshot:
        """From this host if it has the files as they were written, else from the home."""
        last = self.last_part(offset, task)
        return put_together([*(self._part(piece.name) for piece in last.pieces), last])

    def last_part(self, offset: JoinOffset, task: int) -> SnapshotPart:
        """What changed since its pieces, and their names: as this process wrote it a step ago, or read."""
        name = _name(offset, task)
        stamp, part = _LAST.get((str(self._here), task)) or (None, None)
        if part is not None and stamp is not None and stamp == self._stamp(name):
            return part
        return self._part(name)

    def _stamp(self, name: str) -> tuple[str, int, int] | None:
        """Which file that is: one that was written again is another."""
        try:
            found = (self._here / name).stat()
        except OSError:
            return None
        return name, found.st_ino, found.st_mtime_ns

    def _part(self, name: str) -> SnapshotPart:
        # Any trouble with the local copy is only a reason to read the other one. A torn or foreign file is
        # recognized: the checksum covers all of it, and the file repeats its own name.
        with contextlib.suppress(OSError, DovetailError):
            return decode_part((self._here / name).read_bytes(), name, where=str(self._here / name))
        path = f"{self._folder}/{name}"
        where = f"{self._home.root}/{path}"
        if name.endswith(".piece"):
            with contextlib.suppress(FileNotFoundError, CorruptFile):
                return decode_part(self._home.read(f"{path}{TWIN}"), name, where=f"{where}{TWIN}")
        try:
            return decode_part(self._home.read(path), name, where=where)
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
        there = set(self._home.names(self._folder))
        steps = [step for _, step in self._all_here()]
        for file, step in self._all_here():
            if file.name not in there and step == max(steps):
                with contextlib.suppress(FileNotFoundError, CorruptFile):
                    data = file.read_bytes()
                    pieces = decode_part(data, file.name, where=str(file)).pieces
                    if bring(self._home, self._needed(pieces)):
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
        if before % PIECES_LOOKED_AT:
            return
        names = [file.name for file in self._here.glob("*.piece")]
        with contextlib.suppress(OSError, ValueError):
            contents = [file.read_bytes() for file, _ in self._all_here()]
            for name in unnamed_pieces(names, contents, before - NAMED_WITHIN):
                (self._here / name).unlink(missing_ok=True)

    def _all_here(self) -> Iterator[tuple[Path, int]]:
        for file in sorted(self._here.glob("*.snapshot")):
            if match := NAME.fullmatch(file.name):
                yield file, int(match[2])


def in_pieces(state: JoinState, saves: Saves) -> Iterator[SnapshotPart]:
    """All that is saved of a state, in parts of limited size, oldest rows first: so that old ones can go
    before the others."""
    nothing = Changes.nothing()
    if saves.left:
        for held in _by_rows(state.left):
            yield SnapshotPart(Changes(held), nothing, {}, (), saves.right)
    if saves.right or saves.right_matched:
        for held in _by_rows(state.right):
            matched = nothing._replace(marked=np.sort(held.row[held.matched]))
            yield SnapshotPart(nothing, Changes(held) if saves.right else matched, {}, (), saves.right)


def _by_rows(buffer: Buffer) -> Iterator[Held]:
    slots = buffer.slots()
    for start in range(0, len(slots), MAX_PIECE_ROWS):
        yield buffer.held_at(slots[start : start + MAX_PIECE_ROWS])


def _cut(part: SnapshotPart) -> Iterator[SnapshotPart]:
    """The same for a part; that may be one of a snapshot that an older release wrote in one file."""
    most = max(len(part.left.new.row), len(part.right.new.row))
    for start in range(0, max(1, most), MAX_PIECE_ROWS):
        stop = start + MAX_PIECE_ROWS
        sides = []
        for changes in (part.left, part.right):
            new = Held._make(column[start:stop] for column in changes.new)
            sides.append(changes._replace(new=new) if stop >= most else Changes(new))
        yield replace(part, left=sides[0], right=sides[1])


def _joined(parts: Sequence[SnapshotPart], lows: tuple[int, int], totals: dict[str, int]) -> SnapshotPart:
    left = joined([part.left for part in parts], lows[0])
    right = joined([part.right for part in parts], lows[1])
    return SnapshotPart(left, right, totals, (), parts[-1].right_rows, lows)


def _name(offset: JoinOffset, task: int) -> str:
    return f"{offset.version}.{task}-of-{offset.tasks}.snapshot"
