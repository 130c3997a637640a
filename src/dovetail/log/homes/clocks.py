"""Clocks of this process."""

from __future__ import annotations

import time


def awake_s() -> float:
    """A clock that does not jump, and goes on while the machine is suspended, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
