"""How late matches are, counted in bins that widen with the latency.

Law: a latency falls into the bin whose edges hold it; edges are a sixteenth apart.
"""

from __future__ import annotations

from dovetail.intra_window.kernels.packed import Int64s, UInt32s
from dovetail.kernels.flags import kernel

_PARTS = 16
_PARTS_BITS = 4
BINS = 64 * _PARTS


@kernel
def bin_of(latency_us: int) -> int:
    if latency_us < _PARTS:
        return max(0, latency_us)
    power, left = 0, latency_us >> _PARTS_BITS
    for step in (32, 16, 8, 4, 2, 1):
        if left >> step:
            left >>= step
            power += step
    return (power + 1) * _PARTS + (latency_us >> power) - _PARTS


def upper_edge(at: int) -> int:
    """The largest latency of a bin."""
    if at < _PARTS:
        return at
    power, part = at // _PARTS - 1, at % _PARTS
    return ((_PARTS + part + 1) << power) - 1


@kernel
def add_latencies(
    left_us: Int64s, right_us: Int64s, left: UInt32s, right: UInt32s, count: int, now_us: int, bins: Int64s
) -> None:
    """Count each pair by the time since the later of its rows came."""
    for i in range(count):
        bins[bin_of(now_us - max(left_us[left[i]], right_us[right[i]]))] += 1
