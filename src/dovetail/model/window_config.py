"""What an aggregate over time windows needs to know: one value from the plan to the tasks."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.time_window import TimeWindow
from dovetail.model.validity import Validity


@dataclass(frozen=True)
class WindowSettings:
    """How the stream time of the rows is known. `inherits`: it is what their commits promise, where they do.
    Else it is a fixed delay behind the front, which `confirmed_by` rows have reached, or an estimate.
    `early_us`: how much stream time passes between two looks at windows that are still open; None: they come
    out when they close."""

    max_delay_us: int
    max_step_rows: int
    estimate: EstimateSpec | None = None
    validity: Validity = field(default_factory=Validity)
    confirmed_by: int = 1
    inherits: bool = False
    early_us: int | None = None


@dataclass(frozen=True)
class WindowConfig:
    """`rows` and `late` are categories. `keys`: the columns whose equal values make a session. `columns`:
    those that the query reads."""

    home: str
    application: str
    stage: str
    rows: str
    late: str
    window: TimeWindow
    settings: WindowSettings
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    tasks: int
    drain: bool = False
    gate: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WindowConfig:
        said: dict[str, Any] = json.loads(text)
        settings = said["settings"]
        estimate = EstimateSpec(**settings["estimate"]) if settings["estimate"] else None
        given = {**settings, "estimate": estimate, "validity": Validity(**settings["validity"])}
        made = {
            "window": TimeWindow(**said["window"]),
            "settings": WindowSettings(**given),
            "keys": tuple(said["keys"]),
            "columns": tuple(said["columns"]),
        }
        return cls(**{**said, **made})

    @property
    def state_path(self) -> str:
        """Where the record of its last step is, below the home."""
        return f"apps/{self.application}/state/{self.stage}"

    @property
    def reader(self) -> str:
        """The name under which the aggregate holds back retention."""
        return f"{self.application}.{self.stage}"

    @property
    def late_producer(self) -> str:
        return f"{self.application}.{self.stage}.late"
