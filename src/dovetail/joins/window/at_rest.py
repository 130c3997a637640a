"""Rows of windows that are over, joined by the algorithm that fits them.

Law: the pairs are those of equal labels, in no order; which algorithm made them changes nothing else.

All rows are there, so the choice is among the lazy algorithms: the paper's tree for rows at rest
(`choose.py`), from a sample of the labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.window.choose import facts_at_rest, tree
from dovetail.joins.window.join import pairs

Int64s = NDArray[np.int64]


class AtRest(NamedTuple):
    """Positions of equal labels, and the algorithm that found them."""

    left: Int64s
    right: Int64s
    algorithm: str


def pairs_at_rest(left: Int64s, right: Int64s, threads: int) -> AtRest:
    choice = tree(facts_at_rest(left, right, threads))
    at_left, at_right = pairs(left, right, choice.algorithm, threads)
    return AtRest(at_left.astype(np.int64), at_right.astype(np.int64), choice.algorithm)
