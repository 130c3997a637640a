"""Designs in which the streams pass each other in a chain of cores: to the kernel's arrays and back.

Results are taken from the cores' queues by one collector that goes round all of them (linear, as the
SplitJoin paper says, section 6.1): a row's results are out one round after its last scan. The collector is
one FIFO server, so when it is done with each row is a running maximum (max-plus), not an event loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.kernels.chain import Walk, Walked, walk_chain
from dovetail.simulate.load import Load, draw_matches, load
from dovetail.simulate.setup import Setup
from dovetail.simulate.sharing import slices


@dataclass(frozen=True)
class ChainDesign:
    before_ns: float
    after_ns: tuple[float, float]
    """By stream."""
    fast: bool


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
