"""All that a join operator is told when it starts, as one value that crosses processes as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dovetail.model.interval import IntervalSpec
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share
from dovetail.model.theta import Theta, dealt_sides
from dovetail.model.window_join import WindowJoin

MOST_TASKS = 64
"""That can be asked for while a join runs; also of a join without keys, which has no buckets to deal out."""


def most_tasks(theta: Theta | None, buckets: int) -> int:
    """More tasks would have nothing to do, or could not keep the order that was asked for."""
    if theta is None:
        return buckets
    return 1 if theta.order == "step" else MOST_TASKS


@dataclass(frozen=True)
class OutputColumn:
    """A column of the joined rows: which side it comes from and what it is called there; of the window:
    `start` or `end`."""

    name: str
    side: Literal["left", "right", "window"]
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
    settings: JoinSettings
    index_dir: str | None = None  # None: chosen on each host
    drain: bool = False
    theta: Theta | None = None  # the condition of a join without keys
    window: WindowJoin | None = None  # of a join within windows; then `spec` has the type of the join
    gate: str | None = None  # where the source waits for those before it, if it was started early

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "theta": self.theta.to_json() if self.theta else None})

    @classmethod
    def from_json(cls, text: str) -> JoinConfig:
        fields: dict[str, Any] = json.loads(text)
        fields["spec"] = IntervalSpec(**fields["spec"])
        fields["settings"] = JoinSettings.from_json(fields["settings"])
        fields["theta"] = Theta.from_json(fields["theta"]) if fields["theta"] else None
        fields["window"] = WindowJoin(**fields["window"]) if fields["window"] else None
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

    @property
    def splits_hot_keys(self) -> bool:
        """A session is made of all rows of its key: they stay together."""
        together = self.theta is not None or (self.window is not None and self.window.is_session)
        return self.settings.splits_hot_keys and not together

    @property
    def paced_after_us(self) -> int:
        """How far the right stream is to be ahead of the left one: of windows both see the same end."""
        return 0 if self.window is not None else self.spec.after_us

    @property
    def most_tasks(self) -> int:
        return most_tasks(self.theta, self.buckets)

    def share(self, task: int, offset: JoinOffset) -> Share:
        """What is a task's in the step that ends at an offset."""
        dealt = dealt_sides(self.spec.how, self.spec.match) if self.theta else None
        return Share(task, offset.tasks, self.buckets, offset.hot_keys, dealt)
