"""Costs that follow from what the SplitJoin paper says of its machine (32 cores, 28 of them join cores).

Every number below is stated in the paper or computed from what it states; guesses are marked as guesses. So
these statements are INPUTS, and a simulation with these costs cannot confirm them: throughput
of SplitJoin at 28 cores in both window types, and its 60 % over low-latency handshake join there. Nor can it
confirm that visiting latency is 3.3 times apart at 28 cores: the load at which latency is taken was chosen so
that it is (`NEAR_FULL` in `figures.py`). What is found, not put in: other core counts and windows, and the
other latencies at that load. What a core does for a row beside comparing it is part of a comparison's cost
here.
"""

from __future__ import annotations

from dovetail.simulate.costs import Costs

CORES, PHYSICAL_CORES = 28, 32
"""Section 7: 32 cores. That nothing is short yet at 28 join cores, so that four threads are beside them, is
inferred: the paper says only that it is at 32 (section 7.2)."""
TIME_WINDOW_S = 900.0
TIME_ROWS_PER_S = 4_400.0
COUNT_WINDOW_ROWS = 1 << 21
COUNT_ROWS_PER_S = 5_200.0
"""Section 7.4. Rows of both streams together: only so do 15 minutes hold "roughly" 2^21 rows a stream."""
GAIN = 1.6
"""Section 7.2: "up to 60 %", of 15-minute windows."""
SELECTIVITY = 1 / 250_000
"""Two bands of +-10 in 10^4 each (section 7.1); the handshake paper gives the ratio."""
WIDE_SELECTIVITY = SELECTIVITY / 100
"""The same bands in 10^5 each: figure 18, by its caption."""

_SECOND = 1e9
_HOP_NS = 1_000.0
"""A guess: the paper gives no time for a message between cores or sockets."""
_PUNCTUATION_NS = 10.0
"""A guess; figure 19 says only from which precision on punctuations weigh."""


def paper_costs() -> Costs:
    compare = _SECOND * CORES / (COUNT_ROWS_PER_S * COUNT_WINDOW_ROWS)
    split_window = TIME_ROWS_PER_S / 2 * TIME_WINDOW_S
    timed = _SECOND * CORES / (TIME_ROWS_PER_S * split_window)
    chain_rows_per_s = TIME_ROWS_PER_S / GAIN
    chain_sub_window = chain_rows_per_s / 2 * TIME_WINDOW_S / CORES
    overhead = _SECOND / chain_rows_per_s - chain_sub_window * timed
    # A row and its expiry message are a hop each; monitoring and expiry share the rest. The paper blames both
    # (section 7.2) and gives neither's part: half and half is a guess.
    rest = (overhead - 2 * _HOP_NS) / 2
    return Costs(
        compare_ns=((1, compare),),
        timestamp_ns=timed - compare,
        hop_ns=_HOP_NS,
        row_ns=0.0,
        store_ns=50.0,
        expire_ns=20.0,
        monitor_ns=rest,
        expiry_ns=rest,
        result_ns=100.0,
        merge_ns=100.0,
        punctuation_ns=_PUNCTUATION_NS,
        source="computed from the SplitJoin paper, sections 7.1 to 7.4",
    )


def handshake_costs() -> Costs:
    """For the handshake paper's machine (2011, section 5.4): eight cores held 1,400 rows/s a stream, windows
    of 15 minutes, all of it scanning. That point of figure 16 is an input; its other points are found."""
    rows_per_s, cores = 2 * 1_400.0, 8
    timed = _SECOND * cores / (rows_per_s * rows_per_s / 2 * TIME_WINDOW_S)
    return Costs(
        compare_ns=((1, timed),),
        timestamp_ns=0.0,
        hop_ns=_HOP_NS,
        row_ns=0.0,
        source="computed from the handshake paper, section 5.4",
    )
