"""What a row's `_time` says when it is no time."""

from __future__ import annotations

NO_TIME = -(2**63)

_WORDS = {NO_TIME: "it has no event time: the time is null"}
_CODES = range(NO_TIME, NO_TIME + 16)


def unusable(time_us: int) -> str | None:
    """Why a row with this `_time` can match nothing; None: it can."""
    if time_us not in _CODES:
        return None
    return _WORDS.get(time_us, "its event time cannot be used")
