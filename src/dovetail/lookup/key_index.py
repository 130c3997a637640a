"""Which rows of a table have the keys of given rows.

    table rows, by key       hash  -> first row -> rows of the key, side by side
    rows that look up        hash  -> candidate -> the keys themselves decide

Law: a hash only finds a candidate. Keys of the table that share a hash are hashed again with another salt,
until each key has its own, so one candidate is enough. A null key matches nothing; NaN equals NaN and zero
has no sign, as in Spark's joins.

Cost: building sorts the table once; looking up is a binary search for each row, all in NumPy and Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.joins.rows.key_hash import hash_keys

Numbers = NDArray[np.int64]
_SALTS = 64


class KeyIndex:
    """`order`: the table's rows sorted by key, and within a key by `then`. The rows of key number n are
    order[starts[n]:starts[n + 1]]."""

    def __init__(self, keys: Sequence[pa.Array], then: Numbers | None = None) -> None:
        self._keys = [comparable(key) for key in keys]
        kept = np.flatnonzero(_all_valid(self._keys))
        keys_kept = [key.take(pa.array(kept)) for key in self._keys]
        for salt in range(_SALTS):
            hashes = salted_hashes(keys_kept, salt)
            by = np.lexsort((kept, hashes)) if then is None else np.lexsort((kept, then[kept], hashes))
            ordered = hashes[by]
            begins = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(by) else np.empty(0, bool)
            rows = kept[by]
            if _one_key_each(self._keys, rows, begins):
                break
        else:  # pragma: no cover - 2^-64 for each pair of keys, sixty-four times over
            raise AssertionError("no salt gives each key a hash of its own")
        self._salt = salt
        self.order: Numbers = rows
        self.starts: Numbers = np.append(np.flatnonzero(begins), len(rows)).astype(np.int64)
        self._hashes = ordered[self.starts[:-1]]

    def __len__(self) -> int:
        """How many different keys there are."""
        return len(self._hashes)

    def find(self, keys: Sequence[pa.Array]) -> Numbers:
        """The number of each row's key; -1 where the table does not have it."""
        asked = [comparable(key) for key in keys]
        found = np.full(len(asked[0]), -1, np.int64)
        if not len(self):
            return found
        hashes = salted_hashes(asked, self._salt)
        at = np.minimum(np.searchsorted(self._hashes, hashes), len(self) - 1)
        rows = np.flatnonzero((self._hashes[at] == hashes) & _all_valid(asked))
        candidates = self.order[self.starts[at[rows]]]
        equal = np.ones(len(rows), bool)
        for mine, theirs in zip(self._keys, asked, strict=True):
            same = pc.equal(mine.take(pa.array(candidates)), theirs.take(pa.array(rows)))
            equal &= same.to_numpy(zero_copy_only=False)
        rows = rows[equal]
        found[rows] = at[rows]
        return found


def comparable(key: pa.Array) -> pa.Array:
    """The same key in a form whose equality is that of its bits: for floats, that of Spark's joins."""
    if isinstance(key, pa.ChunkedArray):
        key = key.combine_chunks() if key.num_chunks != 1 else key.chunk(0)
    if pa.types.is_large_string(key.type) or pa.types.is_string_view(key.type):
        return key.cast(pa.string())
    if pa.types.is_decimal(key.type):
        return key.cast(pa.string())
    if not pa.types.is_floating(key.type):
        return key
    values = pc.fill_null(key, 0).to_numpy(zero_copy_only=False).astype(np.float64)
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
    return pa.array(bits, mask=~key.is_valid().to_numpy(zero_copy_only=False))


def salted_hashes(keys: Sequence[pa.Array], salt: int) -> Numbers:
    salted = [pa.array(np.full(len(keys[0]), salt, np.int64))] if salt else []
    return hash_keys([*salted, *keys])


def _all_valid(keys: Sequence[pa.Array]) -> NDArray[np.bool_]:
    valid: Any = np.ones(len(keys[0]), bool)
    for key in keys:
        if key.null_count:
            valid &= key.is_valid().to_numpy(zero_copy_only=False)
    return valid  # type: ignore[no-any-return]


def _one_key_each(keys: Sequence[pa.Array], rows: Numbers, begins: NDArray[np.bool_]) -> bool:
    """Rows that are side by side and share a hash have the same key."""
    inside = np.flatnonzero(~begins)
    if not len(inside):
        return True
    before, after = pa.array(rows[inside - 1]), pa.array(rows[inside])
    return all(bool(pc.all(pc.equal(key.take(before), key.take(after))).as_py()) for key in keys)
