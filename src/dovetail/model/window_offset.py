"""Where an aggregate over time windows has come to: how far into the log of its rows, and their stream time.

An offset is all the state there is: the rows of windows that are still open are in the log, from commit
`floor` on. Spark writes it to its offset log before a step runs, so a step that is run again is the same.

`floor_time` and `floor_estimate` are the clock as it was before commit `floor`. Which rows of earlier steps
were late for their session follows from it and the commits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from dovetail.model import json_values
from dovetail.model.offset import NEVER
from dovetail.model.sealed_offset import opened, sealed

VERSION = 2
READ = (1, VERSION)
"""Until version 2 no aggregate gave early results."""


@dataclass(frozen=True)
class WindowOffset:
    step: int = 0
    commit: int = 0  # the next one to read
    time: int = NEVER  # stream time after the commits before it
    estimate: dict[str, Any] | None = None  # what that was estimated from, where it was
    floor: int = 0  # the lowest commit that may hold a row of an open window
    floor_time: int = NEVER
    floor_estimate: dict[str, Any] | None = None
    ended: bool = False  # the input was declared complete: every window is closed
    early: int = NEVER  # stream time when open windows were last looked at

    def begun(self) -> WindowOffset:
        """The offset that the next step starts from. After an end the stream begins again."""
        if not self.ended:
            return self
        return WindowOffset(self.step, self.commit, floor=self.commit)

    def moved(self, **changes: Any) -> WindowOffset:
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        return sealed(VERSION, asdict(self))

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> WindowOffset:
        """What `to_json` gave; anything else is refused."""
        return opened(fields, READ, "an aggregate's offset", cls._checked)

    @classmethod
    def _checked(cls, said: dict[str, Any]) -> WindowOffset:
        read = cls(**said)
        read._check()
        return read

    def _check(self) -> None:
        json_values.whole(self.step, high=10**12)
        json_values.whole(self.floor, high=json_values.whole(self.commit))
        for time in (self.time, self.floor_time, self.early):
            json_values.time_us(time)
        for estimate in (self.estimate, self.floor_estimate):
            if estimate is not None:
                json_values.fields(estimate)
        json_values.flag(self.ended)
