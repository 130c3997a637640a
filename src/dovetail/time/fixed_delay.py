"""Law: with disorder below the delay, no later row is older than the stream's time.

The stream's time is a fixed delay behind the largest event time seen, as Spark's and Flink's watermarks are.
"""

from __future__ import annotations

from dovetail.model.offset import ENDED, NEVER


def advance(time: int, newest_us: int | None, max_delay_us: int) -> int:
    """The stream's time after a commit whose largest event time is `newest_us` (None: it held no valid
    time)."""
    if newest_us is None or time == ENDED:
        return time
    return max(time, newest_us - max_delay_us, NEVER + 1)
