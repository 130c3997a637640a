"""How a join is run, beside what it means: one value from the options of a query to the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.pacing import Pacing
from dovetail.model.validity import Validity

HISTORY_US = 60 * 60 * 1_000_000


@dataclass(frozen=True)
class JoinSettings:
    left_max_delay_us: int
    right_max_delay_us: int
    max_step_rows: int
    tasks: int | None = None  # None: as many as there are cores
    estimate: EstimateSpec | None = None  # None: stream times are `max_delay` behind the newest rows
    pacing: Pacing | None = None  # None: no stream waits for the other
    idle_timeout_us: int | None = None  # None: a stream is never taken for idle
    validity: Validity = field(default_factory=Validity)
    splits_hot_keys: bool = True
    history_us: int = HISTORY_US  # how long the log keeps what the join no longer needs

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> JoinSettings:
        nested = {
            "estimate": EstimateSpec(**said["estimate"]) if said["estimate"] else None,
            "pacing": Pacing(**said["pacing"]) if said["pacing"] else None,
            "validity": Validity(**said["validity"]),
        }
        return cls(**{**said, **nested})
