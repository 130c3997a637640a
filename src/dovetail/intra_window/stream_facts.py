"""What a choice rests on: rates, duplication and skew of a window, from a sample of its keys.

Law: never more than `SAMPLE_ROWS` keys of a side are read, whatever the window.

Two rows of a sample have one key with the probability Σp² over keys. Its inverse is how many keys there
would be if all came equally often; rows over that is the duplication that a probing row meets. A sample
without two equal rows says that keys are nearly unique, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLE_ROWS = 8192


@dataclass(frozen=True)
class SideFacts:
    rows: int
    rate_per_ms: float
    """Rows a millisecond; infinite at rest."""

    duplicates: float
    """Rows that share the key of a row, on average over rows, itself among them."""

    top_share: float
    """Rows of the most frequent key, over all."""


@dataclass(frozen=True)
class StreamFacts:
    left: SideFacts
    right: SideFacts
    cores: int

    @property
    def rows(self) -> int:
        return self.left.rows + self.right.rows


def side_facts(keys: NDArray[Any], window_ms: float | None, seed: int = 0) -> SideFacts:
    """`window_ms`: how long the rows took to come; None at rest."""
    rate = inf if not window_ms else len(keys) / window_ms
    if not len(keys):
        return SideFacts(0, 0.0, 1.0, 0.0)
    rng = np.random.default_rng(seed)
    sample = keys if len(keys) <= SAMPLE_ROWS else keys[rng.integers(0, len(keys), SAMPLE_ROWS)]
    counts = np.unique(sample, return_counts=True)[1].astype(np.float64)
    if len(sample) == len(keys):
        return SideFacts(
            len(keys), rate, float((counts**2).sum() / len(keys)), float(counts.max() / len(keys))
        )
    drawn_twice = len(sample) * (len(sample) - 1) / (2 * len(keys))  # the same row, not the same key
    alike = max(0.0, float((counts * (counts - 1)).sum() / 2) - drawn_twice)
    repeated = alike / (len(sample) * (len(sample) - 1) / 2)
    top = float(counts.max() / len(sample)) if counts.max() > 2 else 0.0
    return SideFacts(len(keys), rate, 1 + repeated * len(keys), top)
