"""What the coordinator decided about a step, and from what: recorded for people to read.

Law: a record follows from the commits' metadata and the plan alone; nothing that runs ever reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.model import json_values


@dataclass(frozen=True)
class CommitTaken:
    """A commit, its newest event time (None: it has none), and the stream's time after it.

    `behind_us` is how far that time was behind the clock when the commit was written (None: no time yet).
    `window` is the window of the estimate in observations, `values` are those of the last windows, and
    `accuracy` is the share of rows so far that were not behind the estimate when they arrived. All three are
    empty if the time is a fixed delay behind the front. Then `held_back` is about how many recent rows are
    too far ahead of the others to move time, until more confirm them. Records of version 1 do not have it.
    """

    commit: int
    newest_us: int | None
    time_us: int
    behind_us: int | None
    window: int | None = None
    values: tuple[int, ...] = ()
    accuracy: float | None = None
    held_back: int | None = None

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> CommitTaken:
        said = {"held_back": None, **said}
        json_values.fields(said, cls.__dataclass_fields__)
        newest_us, behind_us, window = said["newest_us"], said["behind_us"], said["window"]
        return cls(
            commit=json_values.whole(said["commit"]),
            newest_us=None if newest_us is None else json_values.time_us(newest_us),
            time_us=json_values.time_us(said["time_us"]),
            behind_us=None if behind_us is None else json_values.whole(behind_us, -(2**64), 2**64),
            window=None if window is None else json_values.whole(window),
            values=tuple(json_values.time_us(value) for value in said["values"]),
            accuracy=None if said["accuracy"] is None else json_values.real(said["accuracy"]),
            held_back=None if said["held_back"] is None else json_values.whole(said["held_back"]),
        )


@dataclass(frozen=True)
class SideRecord:
    """One stream in a step: commits `start` to `stop - 1` were taken, and the rest is backlog.

    `backlog_us`: event time from the stream's time to the newest row of the backlog (None: one of them is
    unknown). `paused`: the backlog had to wait for the other stream. `carried`: the stream was idle, and its
    time was carried forward.
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
        json_values.fields(said, cls.__dataclass_fields__)
        start, backlog_us = json_values.whole(said["start"]), said["backlog_us"]
        read = cls(
            start=start,
            stop=json_values.whole(said["stop"], start),
            time_us=json_values.time_us(said["time_us"]),
            rows=json_values.whole(said["rows"]),
            backlog_commits=json_values.whole(said["backlog_commits"]),
            backlog_rows=json_values.whole(said["backlog_rows"]),
            backlog_us=None if backlog_us is None else json_values.whole(backlog_us, high=2**64),
            paused=json_values.flag(said["paused"]),
            carried=json_values.flag(said["carried"]),
            taken=tuple(CommitTaken.from_json(one) for one in said["taken"]),
        )
        if [one.commit for one in read.taken] != list(range(start, start + len(read.taken))):
            raise ValueError("the commits that were taken are not one after another")
        return read


@dataclass(frozen=True)
class StepRecord:
    """`ended`: both inputs were declared complete with this step, and the next one starts over. `planning_us`
    is how long it took to read the commits' metadata, to decide, and to write the record before this one.
    `tasks`: how many the step runs in. `query`: which configuration of the join it runs. `read_back`: a step
    that changes the query looks at left and right rows again from these commits on; None: it changes none.
    Records before version 3 have neither."""

    step: int
    planned_at_us: int
    planning_us: int
    ended: bool
    left: SideRecord
    right: SideRecord
    tasks: int
    query: int = 1
    read_back: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> StepRecord:
        """Raises KeyError, TypeError or ValueError for anything that `to_json` cannot have made."""
        said = {"query": 1, "read_back": None, **said}
        json_values.fields(said, cls.__dataclass_fields__)
        back = said["read_back"]
        if back is not None:
            left, right = (json_values.whole(commit) for commit in back)
            back = left, right
        return cls(
            step=json_values.whole(said["step"]),
            planned_at_us=json_values.time_us(said["planned_at_us"]),
            planning_us=json_values.time_us(said["planning_us"]),
            ended=json_values.flag(said["ended"]),
            left=SideRecord.from_json(said["left"]),
            right=SideRecord.from_json(said["right"]),
            tasks=json_values.whole(said["tasks"]),
            query=json_values.whole(said["query"], 1),
            read_back=back,
        )
