"""Handshake join on simulated cores.

Paper: Teubner, Mueller, *How Soccer Players Would do Stream Joins* (SIGMOD 2011), sections 3 and 4, figures 9
and 13. Idea: a row that enters a core is compared with the other stream's segment there, stored, and pushes
the oldest on to the neighbour: each arrival is a wave of pushes along the chain, one a core.
Differs: segments are equal (what the paper's load balancing aims at), so a wave is never held up by a
neighbour that is fuller. An acknowledgement, which only rows of the right stream need (two-phase
forwarding), is handled with the row that it answers.
Cost: two rows meet only when later rows have pushed them together: O(window), whatever the cores.
"""

from __future__ import annotations

from dovetail.simulate.chains import ChainDesign, busiest_chain_ns, run_chain
from dovetail.simulate.costs import Costs
from dovetail.simulate.formulas import handshake_visiting_s
from dovetail.simulate.outcome import Outcome, Times, outcome
from dovetail.simulate.setup import Setup


def _design(costs: Costs) -> ChainDesign:
    return ChainDesign(before_ns=costs.hop_ns, after_ns=(0.0, costs.hop_ns), fast=False)


def simulate(setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int) -> Outcome:
    """A run is much shorter than a window. So how long a row walks until it is in a core with its partner is
    reckoned from the rate (`formulas.handshake_visiting_s`); the last partner is met after k // 2 segments.
    What the push that brings them together waits and takes in the cores is simulated.
    """
    run = run_chain(setup, costs, rows_per_s, _design(costs), rows, seed)
    push_ns = 2e9 / rows_per_s
    window = run.loaded.mean(run.loaded.sub_window) * setup.cores
    to_average = 1e9 * handshake_visiting_s(window * push_ns / 1e9, setup.cores)
    to_last = window / setup.cores * (setup.cores // 2) * push_ns
    scan = run.end - run.start
    start = run.half_start + to_average
    times = Times(run.arrival, start, start + scan, run.out + to_last, start + scan / 2, run.partners)
    # A row is compared with half a window on average itself: the other half comes to it.
    return outcome(times, run.lost, rows_per_s, window)


def busiest_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    return busiest_chain_ns(setup, costs, rows_per_s, _design(costs))
