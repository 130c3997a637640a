"""SplitJoin on simulated cores.

Paper: Najafi, Sadoghi, Jacobsen, *SplitJoin* (USENIX ATC 2016), sections 4 and 5, figures 11 and 14.
Idea: rows of both streams go down one tree to all cores; each scans its sub-window, one of them stores (in
turn, without coordination); results and stars come up through mergers, one tree a stream, and a combiner.
Vocabulary: join core = core; distributor, merger, combiner, star as in the paper.
Differs: a core's stars for a row are one piece of work at its end, so mergers begin with a row when its first
core is done, not at its first star. Mergers of the right and left regions run side by side.
Cost: distribution O(log_b k); see `formulas.py`.
"""

from __future__ import annotations

from dovetail.simulate.costs import Costs
from dovetail.simulate.load import load
from dovetail.simulate.outcome import Outcome
from dovetail.simulate.setup import Setup
from dovetail.simulate.trees import TreeDesign, busiest_tree_ns, simulate_trees


def _design(setup: Setup, costs: Costs, rows_per_s: float) -> TreeDesign:
    sub_window = load(setup, costs, rows_per_s).sub_window
    # Passive expiration overwrites; active expiration removes one row for each that comes, in one of k cores.
    expire = costs.expire_ns / setup.cores if setup.window.timed else 0.0
    return TreeDesign(
        fan_out=setup.fan_out,
        fan_in=setup.fan_in,
        root_ns=0.0,
        core_ns=expire,
        stars=(setup.precision.stars(sub_window[0]), setup.precision.stars(sub_window[1])),
        group=setup.precision.rows_per_star,
    )


def simulate(setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int) -> Outcome:
    return simulate_trees(setup, costs, rows_per_s, _design(setup, costs, rows_per_s), rows, seed)


def busiest_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    return busiest_tree_ns(setup, costs, rows_per_s, _design(setup, costs, rows_per_s))
