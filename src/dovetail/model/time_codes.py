"""What the `_time` column of a join's side says of rows that have no usable event time.

Such a row can match nothing and does not move its stream's time. The reason is kept in the time's place: an
int64 so small that no event can have it.
"""

from __future__ import annotations

NO_TIME = -(2**63)
TOO_OLD = NO_TIME + 1
TOO_FAR_AHEAD = NO_TIME + 2
NULL_KEY = NO_TIME + 3
FIRST_TIME = NO_TIME + 4
"""The smallest time that is one."""

REASONS = {
    NO_TIME: "the time is null",
    TOO_OLD: "the time is older than the horizon",
    TOO_FAR_AHEAD: "the time is too far ahead of the clock",
    NULL_KEY: "the key is null",
}
