"""Threads that share a physical core run in turns: how long work takes then, in closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel


class Slices(NamedTuple):
    """Thread i runs for the first `on[i]` of every `period[i]`, which begins `phase[i]` before 0. A thread
    with a core of its own has `on == period`."""

    on: NDArray[np.float64]
    period: NDArray[np.float64]
    phase: NDArray[np.float64]


@kernel
def finished(start: float, work: float, on: float, period: float, phase: float) -> float:
    """When `work` that is there from `start` on is done by a thread that runs in slices.

    Numbers, not `Slices`: a kernel that hands arrays on counts references, which costs more than this does.
    """
    if on == period or work == 0.0:
        return start + work
    inside = (start + phase) % period
    if inside >= on:
        start += period - inside
        inside = 0.0
    left = on - inside
    if work <= left:
        return start + work
    # The slice that is running is used up; all but the last of those that follow are whole.
    work -= left
    whole = math.ceil(work / on) - 1
    return float(start + (period - inside) + whole * period + (work - whole * on))
