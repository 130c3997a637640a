"""Does a figure grow? Its slope over time, with the error of the slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BLOCKS = 12
"""Samples that follow each other are alike, and taken one by one they would pretend to know more than they
do. Means of blocks are nearly independent."""


class Slope(NamedTuple):
    """`per_x`: growth per unit of x; `error`: one standard error of it."""

    per_x: float
    error: float

    @property
    def grows(self) -> bool:
        return self.per_x > 2 * self.error


def slope_of(x: Sequence[float], y: Sequence[float]) -> Slope | None:
    """By least squares through the means of at most `BLOCKS` blocks; None for fewer than three points."""
    if len(x) < 3:
        return None
    blocks = min(BLOCKS, len(x))
    across = np.array([part.mean() for part in np.array_split(np.asarray(x, float), blocks)])
    up = np.array([part.mean() for part in np.array_split(np.asarray(y, float), blocks)])
    centred = across - across.mean()
    spread = float(centred @ centred)
    if not spread:
        return None
    per_x = float(centred @ up) / spread
    residual = up - up.mean() - per_x * centred
    return Slope(per_x, float(np.sqrt(residual @ residual / (blocks - 2) / spread)))
