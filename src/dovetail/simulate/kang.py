"""Kang's three-step procedure: one core that scans, inserts and invalidates. The sequential reference.

Paper: Kang, Naughton, Viglas (ICDE 2003), as quoted in the handshake paper, section 2.2.
Cost: one row at a time, the scan of a whole window each.
"""

from __future__ import annotations

from dovetail.simulate.costs import Costs
from dovetail.simulate.outcome import Outcome
from dovetail.simulate.setup import Setup
from dovetail.simulate.trees import TreeDesign, busiest_tree_ns, simulate_trees


def _design(costs: Costs) -> TreeDesign:
    return TreeDesign(fan_out=2, fan_in=2, root_ns=0.0, core_ns=costs.expire_ns, stars=(0.0, 0.0), group=0)


def simulate(setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int) -> Outcome:
    return simulate_trees(setup, costs, rows_per_s, _design(costs), rows, seed)


def busiest_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    return busiest_tree_ns(setup, costs, rows_per_s, _design(costs))
