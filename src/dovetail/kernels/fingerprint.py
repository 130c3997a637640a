"""Law: the fingerprint of a set of entries is the sum of their prints, whatever way the set came about; so it
is kept up to date by adding what comes and taking away what goes, and never needs a look at the rest.

A print mixes the slot and all that the entry says, so that an entry that was changed, moved, lost or doubled
changes the sum: for one that was changed in a single field for sure, for others but for one chance in 2^64.
It guards against accidents, not against forgers.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels.flags import kernel

_SLOT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_PICKED = np.uint64(0xD6E8FEB86659FD93)
_HALF, _ODD = np.uint64(32), np.uint64(29)


@kernel
def _mixed(word: np.uint64, by: np.uint64) -> np.uint64:
    """No two words give the same: each step can be undone."""
    word ^= word >> _HALF
    word *= by
    return word ^ (word >> _ODD)


@kernel
def entry_print(slot: int, time: int, row: int, tag: int) -> np.uint64:
    """For an entry of a ring; `row` with its matched bit."""
    word = _mixed(np.uint64(slot) * _SLOT + np.uint64(time), _FIRST)
    word = _mixed(word + np.uint64(row), _SECOND)
    return _mixed(word + np.uint64(tag), _FIRST)


@kernel
def pick_print(slot: int, time: int, row: int) -> np.uint64:
    """For the partner that the entry in a slot has chosen."""
    word = _mixed(np.uint64(slot) * _PICKED + np.uint64(time), _SECOND)
    return _mixed(word + np.uint64(row), _FIRST)
