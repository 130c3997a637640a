"""How a join runs, as opposed to what it means: one value from the options of a query to the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.validity import Validity

HISTORY_US = 2 * 60 * 60 * 1_000_000
HISTORY_BYTES = 4 * 10**9


@dataclass(frozen=True)
class Pacing:
    """How two streams wait for each other (paper, section 5.2). The right stream may be ahead of what the
    left one needs by `slack_us`. A stream without a new commit for `idle_timeout_us` holds up nobody."""

    slack_us: int
    idle_timeout_us: int


@dataclass(frozen=True)
class JoinSettings:
    left_max_delay_us: int
    right_max_delay_us: int
    max_step_rows: int
    tasks: int | None = None  # None: one per core
    estimate: EstimateSpec | None = None  # None: a stream's time is `max_delay` behind its front
    pacing: Pacing | None = None  # None: neither stream waits for the other
    idle_timeout_us: int | None = None  # None: no stream counts as idle
    validity: Validity = field(default_factory=Validity)
    splits_hot_keys: bool = True
    history_us: int = HISTORY_US  # how long the log keeps rows that the join no longer needs,
    history_bytes: int = HISTORY_BYTES  # and how much of them, of each side
    left_inherits: bool = False  # its time is what the commits promise, where they do
    right_inherits: bool = False
    confirmed_by: int = 1  # rows that must have reached an event time before the front does; 1: the newest

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> JoinSettings:
        nested = {
            "estimate": EstimateSpec(**said["estimate"]) if said["estimate"] else None,
            "pacing": Pacing(**said["pacing"]) if said["pacing"] else None,
            "validity": Validity(**said["validity"]),
        }
        return cls(**{**said, **nested})
