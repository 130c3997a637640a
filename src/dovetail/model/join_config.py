"""Everything that a join operator needs to know when it starts, as one value that crosses processes as
JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind, kind_from_json, kind_to_json
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share, Side


@dataclass(frozen=True)
class OutputColumn:
    """A column of the joined rows: which side it comes from and what it is called there; of the window:
    `start` or `end`."""

    name: str
    side: Literal["left", "right", "window"]
    source: str


@dataclass(frozen=True)
class Feed:
    """A join that reads another's output: the category between them and who slices it (None: the other join
    writes this one's side itself), into which side of which join, and whether that join paces its streams."""

    output: str | None
    slicer: str | None
    side_category: str
    side: Side
    state_path: str
    paced: bool


@dataclass(frozen=True)
class JoinConfig:
    home: str
    application: str
    join: str
    left: str  # categories
    right: str
    keys: tuple[str, ...]  # key columns, called the same in both categories
    join_kind: JoinKind
    columns: tuple[OutputColumn, ...]
    buckets: int
    tasks: int
    settings: JoinSettings
    index_dir: str | None = None  # None: chosen on each host
    drain: bool = False
    gate: str | None = None  # where the source waits for those before it, if it was started early
    feeding: tuple[str, ...] = ()  # gates that open when a slicer that feeds it has no more to come
    feeds: tuple[Feed, ...] = ()  # the joins of the application that read this one's output
    query: int = 1  # which of the join's configurations this is: only another `join_kind` makes the next one
    begun: int = 1  # how many times it has begun afresh, each time with a state of its own
    filled: tuple[int, ...] = ()  # commits of left and right rows from before it began; (): it began with
    # none. Then the stream times that the join before it had come to, if its streams have the same times
    whole: bool = False  # rows of those that are in flight are its own alone; else pairs of two of them have
    # come out already, and so have those that come out alone

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "join_kind": kind_to_json(self.join_kind)})

    @classmethod
    def from_json(cls, text: str) -> JoinConfig:
        fields: dict[str, Any] = json.loads(text)
        fields["join_kind"] = kind_from_json(fields["join_kind"])
        fields["settings"] = JoinSettings.from_json(fields["settings"])
        fields["keys"] = tuple(fields["keys"])
        fields["feeding"] = tuple(fields.get("feeding", ()))
        fields["filled"] = tuple(fields.get("filled", ()))
        fields["columns"] = tuple(OutputColumn(**column) for column in fields["columns"])
        fields["feeds"] = tuple(Feed(**feed) for feed in fields.get("feeds", ()))
        return cls(**fields)

    @property
    def spec(self) -> IntervalSpec:
        return self.join_kind.spec

    @property
    def state_path(self) -> str:
        """Where the state of this join is, below the home."""
        return state_path(self.application, numbered(self.join, self.begun))

    @property
    def reader(self) -> str:
        """The name under which the join holds back retention."""
        return f"{self.application}.{self.join}"

    @property
    def splits_hot_keys(self) -> bool:
        return self.settings.splits_hot_keys and self.join_kind.splits_keys

    @property
    def most_tasks(self) -> int:
        return self.join_kind.most_tasks(self.buckets)

    def fills(self, start: JoinOffset) -> bool:
        """A step from here takes rows from before the join began, and nothing comes out of it."""
        return bool(self.filled) and (start.left < self.filled[0] or start.right < self.filled[1])

    @property
    def began(self) -> tuple[tuple[int, int], bool]:
        """Commits of left and right rows from before it began, and whether what comes out of them is its own
        alone."""
        return (self.filled[0], self.filled[1]) if self.filled else (0, 0), self.whole

    def share(self, task: int, offset: JoinOffset) -> Share:
        """What belongs to a task in the step that ends at an offset."""
        return Share(task, offset.tasks, self.buckets, offset.hot_keys, self.join_kind.dealt)


def numbered(name: str, number: int) -> str:
    """The name of one of several, one after the other; the first has no number."""
    return name if number == 1 else f"{name}@{number}"


def state_path(application: str, join: str) -> str:
    return f"apps/{application}/state/{join}"
