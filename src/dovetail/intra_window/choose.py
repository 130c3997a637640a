"""Which algorithm for which window: facts from a sample of its keys, and the decision tree of the paper's
Figure 4 with its reasons.

Paper    Section 5.1, Figure 4 and the text that explains it.
Vocabulary  arrival rate v -> `SideFacts.rate_per_ms`; key duplication -> `duplicates`; key skew ->
         `top_share`.
Differs  The paper calls rates and duplication high, medium or low without numbers. Ours are those of its
         sensitivity studies (section 5.4: 1,600 rows/ms is low, 12,800 medium, 25,600 high), by core: over
         eight, the most of the one to eight threads that the paper has (section 5).
Law      The same facts give the same choice, and every choice says why. No more than a sample of the keys is
         read, whatever the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dovetail.intra_window.join import by_name, thread_count
from dovetail.intra_window.keys import checked

AUTO = "auto"
Wish = Literal["throughput", "latency", "progress"]
"""What the user asked for: input rows per second, quick matches, or many matches early."""

LOW_RATE_PER_CORE = 1_600 / 8
HIGH_RATE_PER_CORE = 25_600 / 8
MANY_DUPLICATES = 10.0
MANY_ROWS = 1_000_000
MANY_CORES = 8
HOT_SHARE = 0.05
SAMPLE_ROWS = 8192


@dataclass(frozen=True)
class SideFacts:
    rows: int
    rate_per_ms: float
    """Rows per millisecond; infinite at rest."""

    duplicates: float
    """How many rows have the key of a row, itself included, on average over rows."""

    top_share: float
    """Share of the rows that have the most frequent key."""


@dataclass(frozen=True)
class StreamFacts:
    left: SideFacts
    right: SideFacts
    cores: int

    @property
    def rows(self) -> int:
        return self.left.rows + self.right.rows


def side_facts(keys: NDArray[Any], window_ms: float | None, seed: int = 0) -> SideFacts:
    """From a sample of at most `SAMPLE_ROWS` keys. `window_ms`: how long the rows took to come; None at rest.

    Two rows of a sample have one key with the probability Σp² over keys. Its inverse is how many keys there
    would be if all came equally often; rows over that is the duplication that a probing row meets. A sample
    without two equal rows says that keys are nearly unique, and no more.
    """
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


@dataclass(frozen=True)
class Choice:
    algorithm: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.algorithm}: {'; '.join(self.reasons)}"


def tree(facts: StreamFacts, wish: Wish = "throughput") -> Choice:
    """Figure 4, from its root, the arrival rate, to a leaf."""
    low, high = LOW_RATE_PER_CORE * facts.cores, HIGH_RATE_PER_CORE * facts.cores
    slower = min(facts.left.rate_per_ms, facts.right.rate_per_ms)
    many = min(facts.left.duplicates, facts.right.duplicates) >= MANY_DUPLICATES
    duplication = "many duplicates on both sides" if many else "few duplicates on one side"
    if slower <= low:
        return Choice("shj_jm", (f"one stream is slow ({slower:,.0f} rows/ms, at most {low:,.0f})",))
    if slower < high:
        reasons: tuple[str, ...] = (
            f"rates are medium ({slower:,.0f} rows/ms, below {high:,.0f})",
            duplication,
        )
        if many:
            return Choice("pmj_jb", reasons)
        if wish == "throughput":
            return _hash(facts, (*reasons, "throughput counts most"))
        return Choice("shj_jm", (*reasons, f"{wish} counts most"))
    reasons = ("rows are at rest" if slower == float("inf") else f"rates are high ({slower:,.0f} rows/ms)",)
    if many:
        if facts.cores >= MANY_CORES:
            return Choice("mpass", (*reasons, duplication, f"{facts.cores} cores are many"))
        return Choice("mway", (*reasons, duplication, f"{facts.cores} cores are few"))
    return _hash(facts, (*reasons, duplication))


def _hash(facts: StreamFacts, reasons: tuple[str, ...]) -> Choice:
    top = max(facts.left.top_share, facts.right.top_share)
    if top >= HOT_SHARE:
        return Choice("npj", (*reasons, f"one key has {top:.0%} of a side"))
    if facts.rows < MANY_ROWS:
        return Choice("npj", (*reasons, f"{facts.rows:,} rows are few"))
    return Choice("prj", (*reasons, f"{facts.rows:,} rows are many, and no key is hot"))


def chosen(algorithm: str, left: NDArray[Any], right: NDArray[Any], threads: int | None) -> str:
    """The algorithm of that name; for "auto", that of the tree for rows at rest."""
    if algorithm != AUTO:
        by_name(algorithm)
        return algorithm
    return tree(facts_at_rest(left, right, threads)).algorithm


def facts_at_rest(left: NDArray[Any], right: NDArray[Any], threads: int | None = None) -> StreamFacts:
    checked(left, right)
    sides = [side_facts(np.asarray(keys), None) for keys in (left, right)]
    return StreamFacts(sides[0], sides[1], thread_count(threads))
