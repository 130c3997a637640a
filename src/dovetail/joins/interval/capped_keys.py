"""Which keys lose rows to a cap, and how many rows. Only the keys that lose the most are kept.

Law: the count of a key is never above the true one. Totals are plain counters by name; these are named
`capped:<side>:<key>`, with the key as people write it, because its rows may leave the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dovetail.joins.kind import add_totals
from dovetail.joins.rows.gather import Rows
from dovetail.joins.rows.pieces import Int64s
from dovetail.joins.step_input import StepInput, Totals
from dovetail.model.share import SIDES, Side

KEPT = 32
_NAME = "capped:{side}:"


def counted(rows: Rows, keys: Sequence[str], side: Side, capped: Int64s) -> dict[str, int]:
    """The keys of these rows, each with its number of rows, largest first."""
    if not len(capped):
        return {}
    hashes = rows.take("_hash", rows.places(capped)).to_numpy(zero_copy_only=False)
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    worst = np.argsort(-counts, kind="stable")[:KEPT]
    examples = rows.places(capped[first[worst]])
    columns = [rows.take(key, examples).to_pylist() for key in keys]
    texts = [", ".join(map(str, key)) for key in zip(*columns, strict=True)]
    name = _NAME.format(side=side)
    return {f"{name}{text}": int(count) for text, count in zip(texts, counts[worst], strict=True)}


def worst(totals: Mapping[str, int], side: Side, limit: int = KEPT) -> dict[str, int]:
    """The keys of a side that lost the most rows, as people write them."""
    name = _NAME.format(side=side)
    found = {text.removeprefix(name): count for text, count in totals.items() if text.startswith(name)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit])


def with_capped_keys(totals: Totals, given: StepInput, capped: Sequence[Int64s]) -> Totals:
    """Running totals after a step in which these rows of both sides had to make room."""
    for rows, side, gone in zip((given.left, given.right), SIDES, capped, strict=True):
        totals = pruned(add_totals(totals, counted(rows, given.config.keys, side, gone)))
    return totals


def pruned(totals: dict[str, int]) -> dict[str, int]:
    """Running totals with the worst keys only, so that they do not grow with the number of keys."""
    names = {f"{_NAME.format(side=side)}{key}" for side in SIDES for key in worst(totals, side)}
    return {name: count for name, count in totals.items() if name in names or not name.startswith("capped:")}
