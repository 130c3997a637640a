"""Which event times are accepted (paper, section 6.7).

A row dated next year would move its stream's time there and make all other rows late. So a time too far ahead
of the clock of the machine that slices the row is replaced by a code (`model/time_codes.py`): the row matches
nothing and does not move time. Old times are rejected only if there is a horizon, because an old stream may
be read again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.model.time_codes import FIRST_TIME, TOO_FAR_AHEAD, TOO_OLD

DAY_US = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True)
class Validity:
    """How far behind the clock (None: any) and ahead of it a time may be."""

    horizon_us: int | None = None
    max_ahead_us: int = 7 * DAY_US

    def judged(self, times: NDArray[np.int64], clock_us: int) -> NDArray[np.int64]:
        """The times, with codes in place of rejected ones; the same array if none is rejected."""
        ahead = times > clock_us + self.max_ahead_us
        old = np.zeros(0, np.bool_)
        if self.horizon_us is not None:
            old = (times < clock_us - self.horizon_us) & (times >= FIRST_TIME)
        if not ahead.any() and not old.any():
            return times
        judged = np.where(ahead, TOO_FAR_AHEAD, times)
        return np.where(old, TOO_OLD, judged) if len(old) else judged
