"""What every design shares: the work of a row at a given rate, and the turns of threads that share a core.

Windows are full from the start: what is simulated is the steady state, and a window's content is its size.
A row's matches are drawn (Poisson, seeded) for all cores together and dealt to them evenly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.kernels.slices import Slices
from dovetail.simulate.setup import Setup


@dataclass(frozen=True)
class Load:
    """Pairs are by stream of the scanning row: (left rows, right rows)."""

    sub_window: tuple[float, float]
    """Rows that one core scans."""
    scan_ns: tuple[float, float]
    """What that takes, with taking up the row."""
    matches: tuple[float, float]
    """For one row, in all cores, on average."""

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


def slices(setup: Setup, costs: Costs, seed: int) -> Slices:
    """When each join core runs, and last one thread that represents all others.

    Where there are more threads than physical cores, they are dealt round these, join cores first, and the
    threads of one core run in turns of a time slice. We assume that threads poll, as those of
    handshake join do (its figure 9), so that a thread with nothing to do still uses up its slice. That, and
    four threads beside the join cores, make for the drop at 32 join cores of 32.
    """
    threads = setup.cores + (setup.other_threads if setup.design != "kang" else 0)
    shown = np.arange(setup.cores + 1)
    physical = setup.physical_cores or threads
    if threads <= physical:
        alone = np.ones(len(shown))
        return Slices(alone, alone, np.zeros(len(shown)))
    home, turn = shown % physical, shown // physical
    crowd = (threads - 1 - home) // physical + 1
    crowd = np.maximum(crowd, turn + 1)
    offset = np.random.default_rng(seed).random(physical)[home] * costs.timeslice_ns
    period = (crowd * costs.timeslice_ns).astype(np.float64)
    on = np.where(crowd > 1, costs.timeslice_ns - costs.switch_ns, period)
    return Slices(on, period, (period - turn * costs.timeslice_ns + offset) % period)
