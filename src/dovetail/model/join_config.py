"""All that a join operator is told when it starts, as one value that crosses processes as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset
from dovetail.model.pacing import Pacing
from dovetail.model.share import Share, Side

HISTORY_US = 60 * 60 * 1_000_000


@dataclass(frozen=True)
class OutputColumn:
    """A column of the joined rows: which side it comes from and what it is called there."""

    name: str
    side: Side
    source: str


@dataclass(frozen=True)
class JoinConfig:
    home: str
    application: str
    join: str
    left: str  # categories
    right: str
    keys: tuple[str, ...]  # key columns, called the same in both categories
    spec: IntervalSpec
    columns: tuple[OutputColumn, ...]
    buckets: int
    tasks: int
    left_max_delay_us: int
    right_max_delay_us: int
    max_step_rows: int
    estimate: EstimateSpec | None = None  # None: stream times are `max_delay` behind the newest rows
    splits_hot_keys: bool = True
    history_us: int = HISTORY_US  # how long the log keeps what the join no longer needs
    pacing: Pacing | None = None  # None: no stream waits for the other
    idle_timeout_us: int | None = None  # None: a stream is never taken for idle
    index_dir: str | None = None  # None: chosen on each host
    drain: bool = False
    gate: str | None = None  # where the source waits for those before it, if it was started early

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> JoinConfig:
        fields: dict[str, Any] = json.loads(text)
        fields["spec"] = IntervalSpec(**fields["spec"])
        fields["estimate"] = EstimateSpec(**fields["estimate"]) if fields["estimate"] else None
        fields["pacing"] = Pacing(**fields["pacing"]) if fields["pacing"] else None
        fields["keys"] = tuple(fields["keys"])
        fields["columns"] = tuple(OutputColumn(**column) for column in fields["columns"])
        return cls(**fields)

    @property
    def state_path(self) -> str:
        """Where the state of this join lies, below the home."""
        return f"apps/{self.application}/state/{self.join}"

    @property
    def reader(self) -> str:
        """The name under which the join holds back retention."""
        return f"{self.application}.{self.join}"

    def share(self, task: int, offset: JoinOffset) -> Share:
        """What is a task's in the step that ends at an offset."""
        return Share(task, offset.tasks, self.buckets, offset.hot_keys)
