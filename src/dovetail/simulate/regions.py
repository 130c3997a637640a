"""NUMA regions: a message between two of them costs its sender more (`Costs.remote_ns`).

Join cores are laid out along the regions, a stretch of neighbours in each, or scattered over them in turn. A
distributor or merger is where the first core below it is; the thread that hands rows over is where they
enter. Only rows and their results are looked at: expiry messages and acknowledgements of a chain cross no
border here. Between any two regions it is equally far, where the machine of the handshake paper (section 5.1)
has one link or two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.setup import Setup


def region_of_cores(setup: Setup) -> NDArray[np.int64]:
    cores = np.arange(setup.cores)
    return cores * setup.regions // setup.cores if setup.placement == "neighbours" else cores % setup.regions


def along_a_chain(setup: Setup, costs: Costs) -> NDArray[np.float64]:
    """By stream and core: what passing a row on costs in addition. Left rows go up, right rows go down."""
    region = region_of_cores(setup)
    crossed = np.zeros((2, setup.cores))
    borders = (region[1:] != region[:-1]) * costs.remote_ns
    crossed[0, :-1] = crossed[1, 1:] = borders
    return crossed


def in_a_tree(
    setup: Setup, costs: Costs, nodes: NDArray[np.int64], branching: int
) -> list[NDArray[np.float64]]:
    """`nodes`: how many there are by level, from the cores to the root. By level below the root: what a
    message between a node and the one above it costs in addition."""
    region, found = region_of_cores(setup), []
    for level, count in enumerate(nodes[:-1].tolist()):
        own = np.arange(count)
        first = np.minimum(own * branching**level, setup.cores - 1)
        above = np.minimum((own // branching) * branching ** (level + 1), setup.cores - 1)
        found.append((region[first] != region[above]) * costs.remote_ns)
    return found
