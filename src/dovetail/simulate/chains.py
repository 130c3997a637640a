"""Designs in which the streams pass each other in a chain of cores: handshake join, as published and with low
latency.

Results are taken from the cores' queues by one collector that goes round all of them (linear, as the
SplitJoin paper says, section 6.1): a row's results are out one round after its last scan. The collector is
one FIFO server, so when it is done with each row is a running maximum (max-plus), not an event loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.formulas import handshake_visiting_s
from dovetail.simulate.kernels.chains import Walk, Walked, walk_chain
from dovetail.simulate.load import Load, draw_matches, load, slices
from dovetail.simulate.result import RowTimes, SimulationResult, summarize
from dovetail.simulate.setup import Setup


@dataclass(frozen=True)
class ChainDesign:
    before_ns: float
    after_ns: tuple[float, float]
    """By stream."""
    fast: bool
    """Rows are passed on before they are compared, and one core stores them."""


def handshake(costs: Costs) -> ChainDesign:
    """Handshake join: a row that enters a core is compared with the other stream's segment there, stored, and
    pushes the oldest on to the neighbour. Each arrival is a wave of pushes along the chain, one a core.

    Paper: Teubner, Mueller, *How Soccer Players Would do Stream Joins* (SIGMOD 2011), sections 3 and 4,
    figures 9 and 13.
    Differs: segments are equal (what the paper's load balancing aims at), so a wave is never held up by a
    neighbour that is fuller. An acknowledgement, which only rows of the right stream need (two-phase
    forwarding), is handled with the row that it answers.
    Cost: two rows meet only when later rows have pushed them together: O(window), whatever the cores.
    """
    return ChainDesign(before_ns=costs.hop_ns, after_ns=(0.0, costs.hop_ns), fast=False)


def low_latency_handshake(costs: Costs) -> ChainDesign:
    """Low-latency handshake join: a row is passed on to the next core before it is compared
    (fast-forwarding), one core is its home and stores it, and an explicit expiry message follows for each
    row.

    Paper: Roy, Teubner, Gemulla (VLDB 2014), as the SplitJoin paper describes and models it (section 6.1,
    figure 10).
    Vocabulary: T_CL = `hop_ns`, T_ML = `monitor_ns`.
    Differs: a row's expiry message is handled right after its scan, in the same visit, not as a message of
    its own in the other direction: the same work for every core (it "doubles the traffic", section 6.1), with
    half the events. Monitoring is a constant, as in equation 1.
    Cost: a row reaches the last core after O(k).
    """
    expiry = costs.hop_ns + costs.expiry_ns
    return ChainDesign(before_ns=costs.hop_ns + costs.monitor_ns, after_ns=(expiry, expiry), fast=True)


@dataclass(frozen=True)
class ChainRun:
    """Rows that were not lost, by arrival."""

    loaded: Load
    arrival: NDArray[np.float64]
    start: NDArray[np.float64]
    half_start: NDArray[np.float64]
    end: NDArray[np.float64]
    out: NDArray[np.float64]
    partners: NDArray[np.float64]
    lost: int


def simulate_chain(
    setup: Setup, costs: Costs, rows_per_s: float, design: ChainDesign, rows: int, seed: int
) -> SimulationResult:
    run = run_chain(setup, costs, rows_per_s, design, rows, seed)
    window = run.loaded.mean(run.loaded.sub_window) * setup.cores
    if design.fast:
        # The partner's home is any core, and its place in the sub-window any place.
        times = RowTimes(run.arrival, run.start, run.end, run.out, (run.start + run.end) / 2, run.partners)
        return summarize(times, run.lost, rows_per_s, window)
    # A run is much shorter than a window. So the rate says how long a row walks until it is in a core with
    # its partner; the last partner is met after k // 2 segments. What the push that brings them together
    # waits and takes in the cores is simulated.
    push_ns = 2e9 / rows_per_s
    to_average = 1e9 * handshake_visiting_s(window * push_ns / 1e9, setup.cores)
    to_last = window / setup.cores * (setup.cores // 2) * push_ns
    scan = run.end - run.start
    start = run.half_start + to_average
    times = RowTimes(run.arrival, start, start + scan, run.out + to_last, start + scan / 2, run.partners)
    # A row is compared with half a window on average itself: the other half comes to it.
    return summarize(times, run.lost, rows_per_s, window)


def run_chain(
    setup: Setup, costs: Costs, rows_per_s: float, design: ChainDesign, rows: int, seed: int
) -> ChainRun:
    loaded = load(setup, costs, rows_per_s)
    arrivals = setup.arrivals.times_ns(rows_per_s, rows // 2, seed)
    matches = draw_matches(loaded, rows // 2, seed)
    works = np.array(loaded.scan_ns)[:, None] + matches / setup.cores * costs.result_ns
    walked: Walked = walk_chain(
        Walk(
            arrivals,
            works,
            design.before_ns,
            np.array(design.after_ns),
            costs.store_ns,
            costs.hop_ns,
            design.fast,
            setup.queue_rows,
            setup.input_rows,
        ),
        slices(setup, costs, seed),
        setup.cores,
    )
    collected = _collected(walked.last_end.ravel(), matches.ravel() * costs.merge_ns, ~walked.lost.ravel())
    order = np.argsort(arrivals, axis=None, kind="stable")
    order = order[~walked.lost.ravel()[order]]
    return ChainRun(
        loaded,
        arrivals.ravel()[order],
        walked.start.ravel()[order],
        walked.half_start.ravel()[order],
        walked.end.ravel()[order],
        collected[order] + setup.cores * costs.hop_ns,
        np.array(loaded.sub_window)[order // (rows // 2)],
        int(walked.lost.sum()),
    )


def _collected(
    found: NDArray[np.float64], work: NDArray[np.float64], kept: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """`out(n) = max(found(n), out(n - 1)) + work(n)`, rows in the order in which they are found."""
    order = np.flatnonzero(kept)
    order = order[np.argsort(found[order], kind="stable")]
    done = np.cumsum(work[order])
    out = np.zeros(len(found))
    out[order] = done + np.maximum.accumulate(found[order] - (done - work[order]))
    return out


def busiest_chain_ns(setup: Setup, costs: Costs, rows_per_s: float, design: ChainDesign) -> float:
    """The work that a row is for the busiest thread: a core, or the collector."""
    loaded = load(setup, costs, rows_per_s)
    matches = loaded.mean(loaded.matches)
    core = loaded.mean(loaded.scan_ns) + matches / setup.cores * costs.result_ns
    core += design.before_ns + loaded.mean(design.after_ns)
    core += costs.store_ns / (setup.cores if design.fast else 1)
    return max(core, matches * costs.merge_ns)
