"""Windows to join within, as Python values: `dovetail.join(..., within=dovetail.Tumbling("10 seconds"))`.

They are PQL's `WITHIN TUMBLING | HOPPING | SESSION`, with the same checks, made when a value is built: a
window that cannot be does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.errors import PlanError
from dovetail.model.window_join import WindowShape
from dovetail.plan.dataframes.duration import Duration, duration_us
from dovetail.plan.joins.windows import AskedWindow

EXAMPLE = 'within=dovetail.Tumbling("10 seconds")'
EXPECTED = (
    'dovetail.Tumbling("10 seconds"), dovetail.Hopping("10 seconds", every="2 seconds") or '
    'dovetail.Session("30 seconds")'
)


@dataclass(frozen=True)
class Tumbling:
    """Windows of a length, one after the other: each begins at a multiple of the length since 1970, UTC,
    where the next begins, and does not hold its end."""

    length: Duration

    def __post_init__(self) -> None:
        _ = self.asked

    @property
    def asked(self) -> AskedWindow:
        return _asked(self, "tumbling", self.length, self.length)


@dataclass(frozen=True)
class Hopping:
    """Windows of a length of which one begins every so often: a row is in several."""

    length: Duration
    every: Duration = field(kw_only=True)

    def __post_init__(self) -> None:
        _ = self.asked

    @property
    def asked(self) -> AskedWindow:
        return _asked(self, "hopping", self.length, self.every)


@dataclass(frozen=True)
class Session:
    """Rows of a key on both sides, each at most the gap after the one before; cut at `max_session`."""

    gap: Duration

    def __post_init__(self) -> None:
        _ = self.asked

    @property
    def asked(self) -> AskedWindow:
        return _asked(self, "session", self.gap, self.gap)


Windows = Tumbling | Hopping | Session


def _asked(windows: Windows, shape: WindowShape, length: Duration, every: Duration) -> AskedWindow:
    try:
        length_name = "gap" if shape == "session" else "length"
        return AskedWindow(shape, duration_us(length, length_name), duration_us(every, "every"))
    except PlanError as error:
        error.where = f"dovetail.{windows!r}"
        raise
