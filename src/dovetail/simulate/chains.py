"""Designs in which the streams pass each other in a chain of cores: handshake join, as published and with low
latency.

Results are taken from the cores' queues by one collector that goes round all of them (of low-latency
handshake join the SplitJoin paper says so, section 6.1; of handshake join we assume it): a row's results are
out one round after its last scan. The collector is one FIFO server, so when it is done with each row is a
running maximum (max-plus), not an event loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.formulas import handshake_visiting_s
from dovetail.simulate.kernels.chains import Walk, Walked, walk_chain
from dovetail.simulate.load import draw_matches, load, slices
from dovetail.simulate.regions import along_a_chain
from dovetail.simulate.result import RowTimes, SimulationResult, summarize
from dovetail.simulate.setup import Setup


@dataclass(frozen=True)
class ChainDesign:
    before_ns: float
    after_ns: tuple[float, float]
    """By stream."""
    fast: bool
    """Rows are passed on before they are compared, and one core stores them."""

    def simulate(
        self, setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int
    ) -> SimulationResult:
        loaded = load(setup, costs, rows_per_s)
        arrivals = setup.arrivals.times_ns(rows_per_s, rows // 2, seed)
        matches = draw_matches(loaded, rows // 2, seed)
        works = np.array(loaded.scan_ns)[:, None] + matches / setup.cores * costs.result_ns
        walked: Walked = walk_chain(
            Walk(
                arrivals,
                works,
                self.before_ns + along_a_chain(setup, costs),
                np.array(self.after_ns),
                costs.store_ns,
                costs.hop_ns,
                self.fast,
                setup.queue_rows,
                setup.input_rows,
            ),
            slices(setup, costs, seed),
            setup.cores,
        )
        kept = ~walked.lost.ravel()
        collected = _collected(walked.last_end.ravel(), matches.ravel() * costs.merge_ns, kept)
        order = np.argsort(arrivals, axis=None, kind="stable")
        order = order[kept[order]]
        start, end = walked.start.ravel()[order], walked.end.ravel()[order]
        out, visit = collected[order] + setup.cores * costs.hop_ns, (start + end) / 2
        window = loaded.mean(loaded.sub_window) * setup.cores
        # With `fast`, the partner's home is any core, and its place in the sub-window any place.
        if not self.fast:
            # A run is much shorter than a window. So the rate says how long a row walks until it is in a core
            # with its partner; the last partner is met after k // 2 segments. What the push that brings them
            # together waits and takes in the cores is simulated.
            push_ns, scan = 2e9 / rows_per_s, end - start
            start = walked.half_start.ravel()[order]
            start += 1e9 * handshake_visiting_s(window * push_ns / 1e9, setup.cores)
            end, visit = start + scan, start + scan / 2
            out += window / setup.cores * (setup.cores // 2) * push_ns
        partners = np.array(loaded.sub_window)[order // (rows // 2)]
        # Without it a row is compared with half a window on average itself: the other half comes to it.
        times = RowTimes(arrivals.ravel()[order], start, end, out, visit, partners)
        return summarize(times, int(walked.lost.sum()), rows_per_s, window)

    def busiest_ns(self, setup: Setup, costs: Costs, rows_per_s: float) -> float:
        """The work that a row is for the busiest thread: a core, or the collector."""
        loaded = load(setup, costs, rows_per_s)
        matches = loaded.mean(loaded.matches)
        core = loaded.mean(loaded.scan_ns) + matches / setup.cores * costs.result_ns
        core += self.before_ns + float(along_a_chain(setup, costs).mean(axis=0).max())
        core += loaded.mean(self.after_ns)
        core += costs.store_ns / (setup.cores if self.fast else 1)
        return max(core, matches * costs.merge_ns)


def handshake(setup: Setup, costs: Costs, rows_per_s: float) -> ChainDesign:
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


def low_latency_handshake(setup: Setup, costs: Costs, rows_per_s: float) -> ChainDesign:
    """Low-latency handshake join: a row is passed on to the next core before it is compared
    (fast-forwarding), one core is its home and stores it, and an explicit expiry message follows for each
    row.

    Paper: Roy, Teubner, Gemulla (VLDB 2014), as the SplitJoin paper describes it (sections 1 and 3, figure
    10) and models it (section 6.1).
    Vocabulary: T_CL = `hop_ns`, T_ML = `monitor_ns`.
    Differs: a row's expiry message is handled right after its scan, in the same visit, not as a message of
    its own in the other direction: the same work for every core (these messages "double the communication
    traffic", section 6.1), with half the events. Monitoring is a constant, as in equation 1.
    Cost: a row reaches the last core after O(k).
    """
    expiry = costs.hop_ns + costs.expiry_ns
    return ChainDesign(before_ns=costs.hop_ns + costs.monitor_ns, after_ns=(expiry, expiry), fast=True)


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
