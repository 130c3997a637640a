"""More threads than physical cores: who shares, and when each of them runs.

Threads are dealt round the physical cores, join cores first, and the threads of one core run in turns of a
time slice. This takes threads to poll (as the papers' do), so that one with nothing to do uses up its slice
all the same: that, and four threads beside the join cores, are the assumptions behind the drop at 32 of 32.
"""

from __future__ import annotations

import numpy as np

from dovetail.simulate.costs import Costs
from dovetail.simulate.kernels.slices import Slices
from dovetail.simulate.setup import Setup


def slices(setup: Setup, costs: Costs, seed: int) -> Slices:
    """Of every join core, and last of one thread that stands for the others."""
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
