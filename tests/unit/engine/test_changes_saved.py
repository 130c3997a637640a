"""Law: a snapshot that holds only what changed gives the state that one of all rows gives."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dovetail.engine import live_index, snapshot_files, store
from dovetail.engine.copying import settle
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.changes import Changes, joined, of_journal
from dovetail.joins.snapshot import SnapshotPart, decode_part, encode_part, put_together
from dovetail.model.interval import IntervalSpec
from oracle import batch_join

from .workload import config, offsets, random_rows, write_commits
from .workload import joined as joined_rows

BEFORE, AFTER, MAX_DELAY, BUCKETS = 400, 300, 60, 8
SPECS = [
    IntervalSpec(BEFORE, AFTER, how, match, pick)
    for how, match, pick in (
        ("left", "all", "first"),
        ("full", "all", "first"),
        ("left", "one", "nearest"),
        ("full", "one", "nearest"),
        ("right", "all", "first"),
    )
]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of few rows, and none too many changes."""
    monkeypatch.setattr(store, "INLINE_ROWS", 3)
    monkeypatch.setattr(store, "MANY", 0)
    monkeypatch.setattr(snapshot_files, "INLINE_ROWS", 3)
    monkeypatch.setattr(snapshot_files, "MAX_PIECE_ROWS", 12)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.how}-{s.match}-{s.pick}")
@pytest.mark.parametrize("damaged", [False, True])
def test_a_state_rebuilt_from_pieces_joins_as_the_live_one(
    tmp_path: Path, spec: IntervalSpec, damaged: bool
) -> None:
    rng = random.Random(f"{spec}")
    left, right = random_rows(rng, 150, MAX_DELAY), random_rows(rng, 150, MAX_DELAY)
    write_commits(tmp_path / "home", "left", left, rng, BUCKETS)
    write_commits(tmp_path / "home", "right", right, rng, BUCKETS)
    join = config(tmp_path / "home", tmp_path / "index", spec, BUCKETS, MAX_DELAY)
    rows, pieces = [], set()
    for number, (start, end) in enumerate(offsets(join, [2])):
        rows += joined_rows(join, start, end)
        settle()
        kept = SnapshotFiles(join)
        kept.drop(before=end.way[0].step)
        names = [path.name for path in (tmp_path / "home" / join.state_path).glob("*.piece")]
        pieces |= set(names)
        if number % 4 == 3:  # another host goes on, from what is in the home
            shutil.rmtree(tmp_path / "index")
            live_index.unmap_all()
            if damaged and names:
                path = tmp_path / "home" / join.state_path / rng.choice(names)
                path.write_bytes(path.read_bytes()[:-1])
    assert pieces
    expected = batch_join(left, right, BEFORE, AFTER, spec.how, spec.match, spec.pick)
    assert Counter(rows) == Counter(expected)


def test_what_is_put_together_is_what_the_buffer_holds() -> None:
    rng = np.random.default_rng(5)
    buffer, parts, next_row = Buffer.empty("left", True), [], 0
    for step in range(60):
        buffer.keep_journal()
        for _ in range(int(rng.integers(1, 4))):
            count = int(rng.integers(0, 400))
            numbers = np.arange(next_row, next_row + count)
            next_row += count
            tags = rng.integers(0, 50, count).astype(np.uint32)
            buffer.insert(Held.fresh(tags, numbers + rng.integers(0, 500, count), numbers))
            slots = buffer.slots()
            some = rng.choice(slots, min(len(slots), 40), replace=False) if len(slots) else slots
            buffer.mark(some[:20])
            buffer.choose(some[10:30], numbers[:1].repeat(len(some[10:30])) + 7, some[10:30] + 1)
            buffer.kill(some[25:])
            buffer.expire(next_row - 900)
        assert buffer.journal is not None
        parts.append(of_journal(buffer.journal, rows=True, matches=False))
        if step % 7 == 6:
            parts = [joined(parts[:3]), *parts[3:-2], joined(parts[-2:])]
        found, held = joined(parts), buffer.held()
        assert all((one == other).all() for one, other in zip(found.new, held, strict=True))


def test_a_part_reads_back_as_it_was_or_is_refused() -> None:
    numbers = np.arange(4, dtype=np.int64)
    new = Held.fresh(numbers.astype(np.uint32), numbers, numbers + 9, numbers > 1)
    new = new._replace(best_time=numbers - 1, best_row=numbers - 1)
    left = Changes(new, numbers, numbers + 1, numbers, numbers, numbers)
    part = SnapshotPart(left, Changes.nothing(), {"a": 1}, (), False, (2, 3))
    data = encode_part(part, "x.piece")
    back = decode_part(data, "x.piece", where="x")
    assert encode_part(back, "x.piece") == data
    assert put_together([back]).totals == {"a": 1}
    for at in range(len(data)):
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        with pytest.raises((CorruptFile, UnknownVersion)):
            decode_part(flipped, "x.piece", where="x")
