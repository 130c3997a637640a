"""Keys that make up much of a run of rows, by the hash of the key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class FrequentKey(NamedTuple):
    """About `rows` rows have this key's hash, never fewer. `at` is the position of one of them."""

    hash: int
    rows: int
    at: int


def most_frequent(keys: Iterable[FrequentKey], limit: int) -> list[FrequentKey]:
    """The counts, added up per key, largest first."""
    found: dict[int, FrequentKey] = {}
    for key in keys:
        known = found.get(key.hash)
        found[key.hash] = key if known is None else known._replace(rows=known.rows + key.rows)
    return sorted(found.values(), key=lambda key: (-key.rows, key.hash))[:limit]
