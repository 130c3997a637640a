"""The processor's clock, for those who measure."""

from __future__ import annotations

import time

from dovetail.kernels.flags import kernel
from dovetail.kernels.machine import cycles


@kernel
def now() -> int:
    return cycles()


def cycles_per_us() -> float:
    """How fast it runs: it is the same on all cores of a machine that keeps time by it."""
    began, first = time.perf_counter(), now()
    while time.perf_counter() - began < 0.02:
        pass
    return float(now() - first) / (time.perf_counter() - began) / 1e6
