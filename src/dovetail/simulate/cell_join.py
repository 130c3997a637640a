"""CellJoin on simulated cores.

Paper: Gedik, Bordawekar, Yu, *CellJoin* (VLDB Journal 2009), as the handshake paper (SIGMOD 2011, sections
2.2 and 3.6) describes it: a coordinator divides the windows into basic windows, one share a core, again every
few rows, at a cost that grows with the number of cores, and copies every new row to all of them.
Idea: a tree of one level whose root is the coordinator, with more to do than a distributor.
Differs: results are collected without order by one thread; fetching basic windows from the shared memory
is part of a comparison's cost.
Cost: the coordinator's, O(k) a row, bounds the rate however many cores there are.
"""

from __future__ import annotations

from dovetail.simulate.costs import Costs
from dovetail.simulate.outcome import Outcome
from dovetail.simulate.setup import Setup
from dovetail.simulate.trees import TreeDesign, busiest_tree_ns, simulate_trees


def _design(setup: Setup, costs: Costs) -> TreeDesign:
    return TreeDesign(
        fan_out=max(2, setup.cores),
        fan_in=max(2, setup.cores),
        root_ns=costs.partition_ns * setup.cores / setup.repartition_rows,
        core_ns=costs.expire_ns / setup.cores,
        stars=(0.0, 0.0),
        group=0,
    )


def simulate(setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int) -> Outcome:
    return simulate_trees(setup, costs, rows_per_s, _design(setup, costs), rows, seed)


def busiest_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    return busiest_tree_ns(setup, costs, rows_per_s, _design(setup, costs))
