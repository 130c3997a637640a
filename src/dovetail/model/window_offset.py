"""Where an aggregate over time windows has come to: how far into the log of its rows, and their stream time.

An offset is all the state there is: the rows of windows that are still open are in the log, from commit
`floor` on. Spark writes it to its offset log before a step runs, so a step that is run again is the same.

`floor_time` and `floor_estimate` are the clock as it was before commit `floor`. Which rows of earlier steps
were late for their session follows from it and the commits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.model import json_values
from dovetail.model.offset import NEVER, checksum_of

VERSION = 1
_WHERE = "Spark's offset log"
_REMEDY = "restore the application's checkpoints from a copy of the home, or start in a new home"


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

    def begun(self) -> WindowOffset:
        """The offset that the next step starts from. After an end the stream begins again."""
        if not self.ended:
            return self
        return WindowOffset(self.step, self.commit, floor=self.commit)

    def moved(self, **changes: Any) -> WindowOffset:
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        said = {"version": VERSION, **asdict(self)}
        return {**said, "checksum": checksum_of(said)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> WindowOffset:
        """What `to_json` gave; anything else is refused."""
        if not isinstance(fields, dict):
            raise CorruptFile("an aggregate's offset that is not one", where=_WHERE, hint=_REMEDY)
        said = {name: value for name, value in fields.items() if name != "checksum"}
        if fields.get("checksum") != checksum_of(said) and said.get("version") == VERSION:
            raise CorruptFile(
                "an aggregate's offset is damaged: its checksum does not fit", where=_WHERE, hint=_REMEDY
            )
        if said.pop("version", None) != VERSION:
            raise UnknownVersion(
                f"an aggregate's offset of format {fields.get('version')!r}",
                where=_WHERE,
                expected=f"format {VERSION}",
                hint="run the release that wrote it, or start with a new home",
            )
        try:
            read = cls(**said)
            read._check()
            return read
        except (TypeError, ValueError) as error:
            raise CorruptFile(
                f"an aggregate's offset that is not one: {error}", where=_WHERE, hint=_REMEDY
            ) from error

    def _check(self) -> None:
        json_values.whole(self.step, high=10**12)
        json_values.whole(self.floor, high=json_values.whole(self.commit))
        for time in (self.time, self.floor_time):
            json_values.time_us(time)
        for estimate in (self.estimate, self.floor_estimate):
            if estimate is not None:
                json_values.fields(estimate)
        json_values.flag(self.ended)
