"""Where a join has come to: how far into both logs, the two stream times, and what a rebuild has to read.

An offset holds all that a task must know. Spark writes it to its offset log before a step runs, so a step
that is run again is run with the same one. `step` counts the steps; together with the digest it names the
version of the state.

Snapshots of the state reach the home some time after a step. So an offset records the recovery path: `base`
is a step whose snapshots the home has completely, `trail` are the steps since. If the snapshot of a step is
missing or damaged, its state is rebuilt by running the steps after an earlier one again.

A step whose end has another `query` than its start changes what the join means, and takes no rows: see
`model/kind_change.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import xxhash

from dovetail.model import json_values
from dovetail.model.sealed_offset import opened, sealed
from dovetail.model.share import SIDES, HotKey, Side

VERSION = 5
READ = (4, VERSION)
"""Offsets of version 4 are those of a join that was never changed."""
_MOST_TASKS = 1 << 16  # as many as there can be buckets
_MOST_QUERIES = 10**9
_OF_THE_COORDINATOR = {"left_estimate", "right_estimate", "heat", "begun", "base", "trail"}
NEVER = -(2**63)
ENDED = 2**63 - 1


@dataclass(frozen=True)
class JoinOffset:
    step: int = 0
    left: int = 0  # next commit to read of each category
    right: int = 0
    left_time: int = NEVER
    right_time: int = NEVER
    left_floor: int = 0  # lowest commit that may hold an open left row,
    right_floor: int = 0  # or a retained right row
    tasks: int = 0  # how many bucket groups the state at this offset is kept in; 0: there is none yet
    ended: bool = False  # the inputs were declared complete: everything is closed
    left_estimate: dict[str, Any] | None = None  # what each stream time was estimated from, where it was
    right_estimate: dict[str, Any] | None = None
    hot: list[list[Any]] = field(default_factory=list)  # keys that are split over the tasks (HotKey)
    heat: dict[str, Any] | None = None  # what that was decided from
    turns: list[int] = field(default_factory=list)  # of a theta join: how its commits came, see `turns_of`
    query: int = 1  # by which of the join's configurations the state at this offset was made
    begun: list[int] = field(default_factory=list)  # the commits at which the streams last began; []: 0, 0
    paired: list[int] = field(
        default_factory=list
    )  # of a window join that was eager: left and right rows with
    # smaller numbers have come out with each other; []: none have
    base: dict[str, Any] | None = None  # a step before this one that can be begun from (None: not known),
    trail: list[dict[str, Any]] = field(default_factory=list)  # and those from it to this one

    @property
    def times(self) -> tuple[int, int]:
        """The stream times the next step starts from. After an end the streams begin again."""
        return (NEVER, NEVER) if self.ended else (self.left_time, self.right_time)

    @property
    def version(self) -> str:
        digest = xxhash.xxh3_64_hexdigest(json.dumps(self.bare(), sort_keys=True).encode())
        return f"{self.step:012d}-{digest}"

    def turns_of(self) -> list[tuple[Side, int]]:
        """In which order the commits of the step that ends here entered: sides, and how many commits of each
        came one after the other. The first of `turns` are left ones, perhaps none."""
        return [(SIDES[n % 2], commits) for n, commits in enumerate(self.turns) if commits]

    @property
    def hot_keys(self) -> tuple[HotKey, ...]:
        return tuple(HotKey(*key) for key in self.hot)

    def changes_to(self, end: JoinOffset) -> bool:
        """The step from here to `end` turns the state into that of another query. Where there is no state
        yet, the first step simply is the new query's."""
        return self.query != end.query and self.tasks > 0

    def slim(self) -> JoinOffset:
        """All that a task must know: not what the coordinator plans by."""
        return replace(self, left_estimate=None, right_estimate=None, heat=None)

    def bare(self) -> dict[str, Any]:
        """What the state at this offset depends on."""
        # Not `asdict`: it copies all that the coordinator remembers, only for it to be left out.
        said = {name: value for name, value in vars(self).items() if name not in _OF_THE_COORDINATOR}
        # Left out where they say nothing: the digests of older homes stay as they are.
        if not self.turns:
            del said["turns"]
        if self.query == 1:
            del said["query"]
        if not self.paired:
            del said["paired"]
        return said

    @property
    def way(self) -> list[JoinOffset]:
        """The steps that lead here, from one that can be begun from; the last is this one."""
        before = [] if self.base is None else [self.base, *self.trail]
        return [*(JoinOffset(**step) for step in before), self]

    def remembering(self, start: JoinOffset, in_home: Callable[[JoinOffset], bool]) -> JoinOffset:
        """This offset, planned from `start`, with its recovery path. That begins at the second-newest step
        whose state is in the home, so that one of the two may be damaged."""
        before = start.way
        whole = [number for number, step in enumerate(before) if number == 0 or in_home(step)]
        base, *trail = [step.bare() for step in before[whole[-2:][0] :]]
        return replace(self, base=base, trail=trail)

    @property
    def needed(self) -> tuple[int, int]:
        """The first commits of both categories that may still be read for the state at this offset."""
        way = self.way
        # The first step has the lowest floors, unless a wider window has let them down again.
        return min(step.left_floor for step in way), min(step.right_floor for step in way)

    def to_json(self) -> dict[str, Any]:
        return sealed(VERSION, asdict(self))

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> JoinOffset:
        """What `to_json` gave; anything else is refused."""
        return opened(fields, READ, "a join offset", cls._checked)

    @classmethod
    def _checked(cls, said: dict[str, Any]) -> JoinOffset:
        read = cls(**said)
        read._check()
        return read

    def _check(self) -> None:
        """Raises ValueError or TypeError for what cannot be an offset."""
        for at, floor in ((self.left, self.left_floor), (self.right, self.right_floor)):
            json_values.whole(floor, high=json_values.whole(at))
        json_values.whole(self.step, high=10**12)
        json_values.whole(self.tasks, high=_MOST_TASKS)
        json_values.time_us(self.left_time)
        json_values.time_us(self.right_time)
        json_values.flag(self.ended)
        json_values.whole(self.query, 1, _MOST_QUERIES)
        for both in (self.begun, self.paired):
            if len([json_values.whole(one) for one in json_values.items(both)]) not in (0, 2):
                raise ValueError(f"{both} are not a number for each side")
        for hash_, dealt in json_values.items(self.hot):
            json_values.time_us(hash_)
            if dealt not in SIDES:
                raise ValueError(f"{dealt!r} is not a side")
        for commits in json_values.items(self.turns):
            json_values.whole(commits)
        for part in (self.left_estimate, self.right_estimate, self.heat):
            if part is not None:
                json_values.fields(part)
        json_values.items(self.trail)
        if self.base is not None:
            way = self.way
            if [step.step for step in way] != list(range(way[0].step, way[0].step + len(way))):
                raise ValueError("the steps that lead to it have gaps")
            for step in way[:-1]:
                step._check()

    def moved(self, **changes: Any) -> JoinOffset:
        return replace(self, **changes)
