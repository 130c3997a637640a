"""Codes in the `_time` column of a join's side, for rows without a usable event time.

Such a row matches nothing and does not move its stream's time. The code takes the place of the time: an int64
so small that no event can have it.
"""

from __future__ import annotations

NO_TIME = -(2**63)
TOO_OLD = NO_TIME + 1
TOO_FAR_AHEAD = NO_TIME + 2
NULL_KEY = NO_TIME + 3
FIRST_TIME = NO_TIME + 4
"""The smallest real time."""

REASONS = {
    NO_TIME: "the time is null",
    TOO_OLD: "the time is older than the horizon",
    TOO_FAR_AHEAD: "the time is too far ahead of the clock",
    NULL_KEY: "the key is null",
}


def unusable(time_us: int) -> str | None:
    """Why a row with this `_time` matches nothing; None if it can match."""
    return REASONS.get(time_us)
