"""The work that rows of each stream are at a rate: scans, matches, stars. Shared by every design.

Windows are full from the start: what is simulated is the steady state, and a window's content is its size.
A row's matches are drawn (Poisson, seeded) for all cores together and dealt to them evenly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.setup import Setup


@dataclass(frozen=True)
class Load:
    """Pairs are by stream of the scanning row: (left rows, right rows)."""

    sub_window: tuple[float, float]
    """Rows that one core scans."""
    scan_ns: tuple[float, float]
    """What that takes, with taking up the row."""
    matches: tuple[float, float]
    """Of one row, in all cores, on average."""

    def mean(self, values: tuple[float, float]) -> float:
        return (values[0] + values[1]) / 2


def load(setup: Setup, costs: Costs, rows_per_s: float) -> Load:
    held_left, held_right = setup.window.held(rows_per_s, setup.right_later_s)
    scanned = (held_right, held_left)
    share = (scanned[0] / setup.cores, scanned[1] / setup.cores)
    timed = setup.window.timed
    return Load(
        sub_window=share,
        scan_ns=(
            costs.row_ns + share[0] * costs.comparison_ns(share[0], timed),
            costs.row_ns + share[1] * costs.comparison_ns(share[1], timed),
        ),
        matches=(scanned[0] * setup.selectivity, scanned[1] * setup.selectivity),
    )


def draw_matches(loaded: Load, rows: int, seed: int) -> NDArray[np.float64]:
    """By stream and row."""
    random = np.random.default_rng((seed, 1))
    return random.poisson(np.array(loaded.matches)[:, None], (2, rows)).astype(np.float64)
