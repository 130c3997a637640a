"""Rows whose keys share the tag, half of the hash: more bits of it tell most of them apart, where they are
known."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.joins.buffer import Buffer, Held
from dovetail.kernels.ring import ROW_BITS, more_of, tag_of

SAME_TAG = np.array([5 << 32 | bits << 17 | 3 for bits in (1, 2, 0x7FFF, 0x7FFE)], np.int64)
LAST_ROW = (1 << ROW_BITS) - 1


def held(hashes: np.ndarray, *, known: bool = True) -> Held:
    rows = LAST_ROW - np.arange(len(hashes), dtype=np.int64)
    return Held.fresh(
        tag_of(hashes), np.zeros(len(hashes), np.int64), rows, more=more_of(hashes) if known else None
    )


@pytest.mark.parametrize(("inside", "probing"), [(True, True), (True, False), (False, True), (False, False)])
def test_bits_that_are_known_on_both_sides_tell_keys_apart(inside: bool, probing: bool) -> None:
    buffer = Buffer.empty("left", with_best=False)
    slots = buffer.insert(held(SAME_TAG, known=inside))
    who, found = buffer.probe(held(SAME_TAG, known=probing), 0, 0)
    pairs = {(int(one), int(np.flatnonzero(slots == slot)[0])) for one, slot in zip(who, found, strict=True)}
    every = {(one, other) for one in range(4) for other in range(4)}
    assert pairs == ({(one, one) for one in range(4)} if inside and probing else every)


def test_rows_come_back_with_their_numbers_and_bits() -> None:
    buffer, rows = Buffer.empty("left", with_best=False), held(SAME_TAG)
    buffer.mark(buffer.insert(rows)[:2])
    back = buffer.held()
    assert back.row.tolist() == rows.row.tolist()
    assert back.more.tolist() == rows.more.tolist()
    assert back.matched.tolist() == [True, True, False, False]
    assert buffer.find(rows.tag, rows.row).tolist() == buffer.slots().tolist()


def test_no_hash_has_bits_that_count_as_unknown() -> None:
    hashes = np.array([0, -1, 1 << 17, (1 << 17) - 1, -(1 << 63)], np.int64)
    assert more_of(hashes).tolist() == [1, 0x7FFF, 1, 1, 1]
