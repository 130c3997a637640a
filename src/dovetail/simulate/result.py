"""What a simulation found: rows in, out and lost, and where their time went.

Law: every offered row came out or was lost, and the stages of a row's time add up to its whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRIFT = 0.005
"""Held: what waits grows by less than this share of what comes."""


@dataclass(frozen=True)
class RowTimes:
    """By row, in nanoseconds; rows of both streams, by arrival, without those lost."""

    arrival: NDArray[np.float64]
    start: NDArray[np.float64]
    """Mean over the cores, or over the partners of a row, of when a scan began."""
    end: NDArray[np.float64]
    out: NDArray[np.float64]
    """When the row had met all partners and its results were out."""
    visit: NDArray[np.float64]
    """Mean over partners of when they met."""
    partners: NDArray[np.float64]
    """How many rows it was compared with: a mean over pairs weighs by them."""


@dataclass(frozen=True)
class Latency:
    """Means in nanoseconds. Distribution includes the wait for a core, gathering that for the last core and
    for order (SplitJoin, section 7.3); visiting is from the later row's arrival to the comparison."""

    distribution_ns: float
    execution_ns: float
    gathering_ns: float
    end_to_end_ns: float
    visiting_ns: float
    visiting_p99_ns: float


@dataclass(frozen=True)
class SimulationResult:
    offered: int
    lost: int
    completed: int
    rows_per_s: float
    """For both streams together, offered."""
    completed_per_s: float
    comparisons_per_s: float
    held: bool
    """Nothing was lost, and what waits did not grow."""
    latency: Latency


def summarize(times: RowTimes, lost: int, rows_per_s: float, scanned_rows: float) -> SimulationResult:
    """Latency is that of the second half: by then the queues are as full as they get."""
    count = len(times.arrival)
    late = slice(count // 2, None)
    whole = times.out - times.arrival
    quarter = max(1, count // 4)
    third, fourth = slice(count - 2 * quarter, count - quarter), slice(count - quarter, None)
    grown = whole[fourth].mean() - whole[third].mean()
    passed = times.arrival[fourth].mean() - times.arrival[third].mean()
    visits = (times.visit - times.arrival)[late]
    meets = times.partners[late] > 0
    spent = max(float(times.out.max() - times.arrival.min()), 1.0) if count else 1.0
    completed_per_s = count / spent * 1e9
    return SimulationResult(
        offered=count + lost,
        lost=lost,
        completed=count,
        rows_per_s=rows_per_s,
        completed_per_s=completed_per_s,
        comparisons_per_s=completed_per_s * scanned_rows,
        held=lost == 0 and bool(grown <= DRIFT * passed),
        latency=Latency(
            distribution_ns=float((times.start - times.arrival)[late].mean()),
            execution_ns=float((times.end - times.start)[late].mean()),
            gathering_ns=float((times.out - times.end)[late].mean()),
            end_to_end_ns=float(whole[late].mean()),
            visiting_ns=float(np.average(visits, weights=times.partners[late])),
            visiting_p99_ns=float(np.quantile(visits[meets], 0.99)),
        ),
    )
