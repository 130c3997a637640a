"""Low-latency handshake join on simulated cores.

Paper: Roy, Teubner, Gemulla (VLDB 2014), as the SplitJoin paper describes and models it (section 6.1, figure
10): a row is passed on to the next core before it is compared (fast-forwarding), one core is its home and
stores it, and an explicit expiry message follows for each row.
Vocabulary: T_CL = `hop_ns`, T_ML = `monitor_ns`.
Differs: a row's expiry message is handled right after its scan, in the same visit, not as a message of its
own in the other direction: the same work for every core (it "doubles the traffic", section 6.1), with half
the events. Monitoring is a constant, as in equation 1.
Cost: a row reaches the last core after O(k).
"""

from __future__ import annotations

from dovetail.simulate.chains import ChainDesign, busiest_chain_ns, run_chain
from dovetail.simulate.costs import Costs
from dovetail.simulate.outcome import Outcome, Times, outcome
from dovetail.simulate.setup import Setup


def _design(costs: Costs) -> ChainDesign:
    expiry = costs.hop_ns + costs.expiry_ns
    return ChainDesign(before_ns=costs.hop_ns + costs.monitor_ns, after_ns=(expiry, expiry), fast=True)


def simulate(setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int) -> Outcome:
    run = run_chain(setup, costs, rows_per_s, _design(costs), rows, seed)
    # The partner's home is any core, and its place in the sub-window any place.
    times = Times(run.arrival, run.start, run.end, run.out, (run.start + run.end) / 2, run.partners)
    scanned = run.loaded.mean(run.loaded.sub_window) * setup.cores
    return outcome(times, run.lost, rows_per_s, scanned)


def busiest_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    return busiest_chain_ns(setup, costs, rows_per_s, _design(costs))
