"""What the coordinator decided about a step, and from what: written down for people.

Law: a record is told by the commits' metadata and the plan alone; nothing that runs ever reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class CommitTaken:
    """A commit, its newest event time (None: it has none), and the stream's time after it.

    That time was `behind_us` the clock when the commit was written (None: nothing was known of the time yet).
    `window` and `values`: the window it was estimated over, in observations, and what the last windows said;
    `accuracy`: the share of rows so far that were not behind the estimate that they met. All three say
    nothing where the time is a fixed delay behind the newest row.
    """

    commit: int
    newest_us: int | None
    time_us: int
    behind_us: int | None
    window: int | None = None
    values: tuple[int, ...] = ()
    accuracy: float | None = None

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> CommitTaken:
        return cls(**{**said, "values": tuple(said["values"])})


@dataclass(frozen=True)
class SideRecord:
    """One stream in a step: commits `start` to `stop - 1` were taken, the rest of what was there is backlog.

    `backlog_us`: event time from the stream's time to the newest row of the backlog (None: one of them is
    not known). `paused`: the backlog had to wait for the other stream. `carried`: the stream was idle, and
    its time was put forward.
    """

    start: int
    stop: int
    time_us: int
    rows: int
    backlog_commits: int
    backlog_rows: int
    backlog_us: int | None
    paused: bool
    carried: bool
    taken: tuple[CommitTaken, ...]

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> SideRecord:
        return cls(**{**said, "taken": tuple(CommitTaken.from_json(one) for one in said["taken"])})


@dataclass(frozen=True)
class StepRecord:
    """`ended`: both inputs were declared complete with this step, and the next one begins anew. `planning_us`
    is how long it took to read the commits' metadata, to decide, and to write the record before this one.
    `tasks` (None: not written down, by releases before) are those that the step runs in."""

    step: int
    planned_at_us: int
    planning_us: int
    ended: bool
    left: SideRecord
    right: SideRecord
    tasks: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> StepRecord:
        """Raises KeyError, TypeError or ValueError for anything that `to_json` cannot have made."""
        sides = {side: SideRecord.from_json(said[side]) for side in ("left", "right")}
        return cls(**{**said, **sides})
