"""What the `_time` column of a join's side says of rows that have no usable event time.

Such a row can match nothing and does not move its stream's time. The reason is kept in the time's place: an
int64 so small that no event can have it.
"""

from __future__ import annotations

NO_TIME = -(2**63)
"""The key or the time is null."""
TOO_OLD = NO_TIME + 1
"""Further behind the clock than the horizon."""
TOO_FAR_AHEAD = NO_TIME + 2
"""Further ahead of the clock than the limit."""
FIRST_TIME = NO_TIME + 3
"""The smallest time that is one."""

REASONS = {
    NO_TIME: "the key or the time is null",
    TOO_OLD: "the time is older than the horizon",
    TOO_FAR_AHEAD: "the time is too far ahead of the clock",
}
