"""Where a join has come to: how far into both logs, the two stream times, and what a rebuild has to read.

An offset holds all that a task must know. Spark writes it to its offset log before a step runs, so a step
that is run again is run with the same one. `step` counts the steps; together with the digest it names the
version of the state.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import xxhash

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.model.share import HotKey

VERSION = 4
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

    @property
    def times(self) -> tuple[int, int]:
        """The stream times the next step starts from. After an end the streams begin anew."""
        return (NEVER, NEVER) if self.ended else (self.left_time, self.right_time)

    @property
    def version(self) -> str:
        digest = xxhash.xxh3_64_hexdigest(json.dumps(self.slim().to_json(), sort_keys=True).encode())
        return f"{self.step:012d}-{digest}"

    @property
    def hot_keys(self) -> tuple[HotKey, ...]:
        return tuple(HotKey(*key) for key in self.hot)

    def slim(self) -> JoinOffset:
        """All that a task must know: not what the coordinator plans by."""
        return replace(self, left_estimate=None, right_estimate=None, heat=None)

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> JoinOffset:
        if fields.get("version") != VERSION:
            raise UnknownVersion(
                f"a join offset of format {fields.get('version')!r}",
                expected=f"format {VERSION}",
                hint="run the release that wrote it, or start with a new home",
            )
        try:
            return cls(**{name: value for name, value in fields.items() if name != "version"})
        except TypeError as error:
            raise CorruptFile(
                f"a join offset that is not one: {error}", where="Spark's offset log"
            ) from error

    def moved(self, **changes: Any) -> JoinOffset:
        return replace(self, **changes)
