"""Rows of windows that are over, joined by the algorithm that fits them.

Law: the pairs are those of equal labels, in no order; which algorithm made them changes nothing else.

All rows are there, so the choice is among the lazy algorithms, from a sample of the labels. The paper's tree
(`choose.py`) decides at first. Once the process has joined enough rows in large windows, measuring what the
algorithms cost here pays, and from then on the choice is learnt (`adaptive.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dovetail.intra_window.adaptive import Adaptive
from dovetail.intra_window.choose import Choice, StreamFacts, facts_at_rest, tree
from dovetail.intra_window.cost import JoinCosts, calibrate
from dovetail.intra_window.join import LAZY, pairs

Int64s = NDArray[np.int64]
T = TypeVar("T")
LARGE_ROWS = 1 << 16
"""In smaller windows every algorithm is done in a moment."""

PAYS_FROM_ROWS = 1 << 24


class AtRest(NamedTuple):
    """Positions of equal labels, and the algorithm that found them."""

    left: Int64s
    right: Int64s
    algorithm: str


class Chooser:
    """The choice of one process for windows at rest."""

    def __init__(self, pays_from_rows: int = PAYS_FROM_ROWS) -> None:
        self._pays_from_rows = pays_from_rows
        self._joined_rows = 0
        self._costs: dict[int, JoinCosts] = {}
        self._learning: dict[tuple[int, bool], Adaptive] = {}

    def joined(
        self,
        left: NDArray[Any],
        right: NDArray[Any],
        threads: int | None,
        join: Callable[[str], T],
        pairs: bool,
    ) -> tuple[T, Choice]:
        """Run `join` with the algorithm chosen for these keys. `pairs`: it writes pairs, and does not only
        count."""
        facts = facts_at_rest(left, right, threads)
        learning = self._learnt(facts, pairs) if facts.rows >= LARGE_ROWS else None
        choice = learning.choose(facts) if learning is not None else tree(facts)
        began = time.perf_counter()
        made = join(choice.algorithm)
        if learning is not None:
            learning.learn(choice.algorithm, facts, time.perf_counter() - began)
        return made, choice

    def _learnt(self, facts: StreamFacts, pairs: bool) -> Adaptive | None:
        self._joined_rows += facts.rows
        if self._joined_rows < self._pays_from_rows:
            return None
        if facts.cores not in self._costs:
            self._costs[facts.cores] = calibrate(facts.cores, tuple(LAZY))
        return self._learning.setdefault(
            (facts.cores, pairs), Adaptive(self._costs[facts.cores], write_pairs=pairs)
        )


chooser = Chooser()


def pairs_at_rest(left: Int64s, right: Int64s, threads: int) -> AtRest:
    (at_left, at_right), choice = chooser.joined(
        left, right, threads, lambda name: pairs(left, right, name, threads), pairs=True
    )
    return AtRest(at_left.astype(np.int64), at_right.astype(np.int64), choice.algorithm)
