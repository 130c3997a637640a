"""Law: a promise is about rows still to come. A row that comes below it is late, and is counted as such.

Each commit of a category carries what its producers promise, by column: from now on no value of the column is
below this time. Readers of the category use that, so stream time passes from operator to operator without
being estimated again, and a row dated far ahead moves no stream's time.

    NEVER     nothing is promised yet, or the producer starts over after its inputs were declared complete
    ENDED     no row is to come: others write now what the producer wrote
    None      (in `promised`) somebody who writes here promises nothing about the column
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.model import json_values
from dovetail.model.offset import ENDED, NEVER


@dataclass(frozen=True)
class Promise:
    """`times`: by column, microseconds. `by`: how stream time was obtained, for people."""

    times: Mapping[str, int] = field(hash=False)
    by: str

    @property
    def has_ended(self) -> bool:
        return bool(self.times) and all(time == ENDED for time in self.times.values())

    def to_json(self) -> dict[str, Any]:
        return {"times": dict(self.times), "by": self.by}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Promise:
        """Raises ValueError, KeyError or TypeError for what `to_json` cannot have made."""
        json_values.fields(said, ("times", "by"))
        times = json_values.fields(said["times"])
        return cls({name: json_values.time_us(time) for name, time in times.items()}, said["by"])


@dataclass(frozen=True)
class TimeTerm:
    """A time of what a stage reads, and how far below it a value may be (above it, if positive)."""

    origin: str
    shift_us: int


@dataclass(frozen=True)
class PromisedColumn:
    """A column of what a stage writes. Each of its values is at or above one of the terms."""

    name: str
    terms: tuple[TimeTerm, ...]


def promised(columns: Iterable[PromisedColumn], origins: Mapping[str, int | None], by: str) -> Promise | None:
    """What a stage promises about its output, from what is promised about its origins; None if nothing."""
    times: dict[str, int] = {}
    for column in columns:
        known = [origins.get(term.origin) for term in column.terms]
        if not known or None in known:
            continue
        shifted = [
            NEVER if time is None or time == NEVER else max(NEVER + 1, time + term.shift_us)
            for time, term in zip(known, column.terms, strict=True)
        ]
        times[column.name] = min(shifted)
    return Promise(times, by) if times else None
