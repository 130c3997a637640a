"""Per-key caps (paper, section 6.6): a join holds at most `cap` rows of one key; the oldest go first.

Differs. The oldest is the one with the smallest event time, and of those the smallest row number; the paper
does not say. So what stays of a key is a function of the rows that came, not of how they were cut into steps:
the newest `cap` of those that the window holds. Reading the log back gives the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer

Int64s = NDArray[np.int64]
KeyLabels = Callable[[str, Int64s], Int64s]
"""`key_labels(side, rows)` gives rows of one side numbers, equal where their real keys are."""


def beyond(
    buffer: Buffer, tags: NDArray[np.uint32], cap: int | None, key_labels: KeyLabels | None = None
) -> Int64s:
    """Slots of the rows beyond the cap, for keys that have one of these tags."""
    if cap is None or not len(tags):
        return np.empty(0, np.int64)
    slots, key = buffer.crowded(np.unique(tags), cap)
    if not len(slots):
        return slots
    rows, times, _ = buffer.at(slots)
    if key_labels is not None:  # equal tags may be different keys
        _, key = np.unique(np.stack([key, key_labels(buffer.side, rows)]), axis=1, return_inverse=True)
    newest_first = np.lexsort((-rows, -times, key))
    ordered = key[newest_first]
    place = np.arange(len(ordered)) - np.searchsorted(ordered, ordered, side="left")
    return slots[newest_first[place >= cap]]
