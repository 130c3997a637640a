"""A case: one join, the faults it met, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    """What was done to whom: `kind` is who died or what was lost, `point` when or where."""

    runs_on: str  # "files" or "Spark"
    kind: str
    point: str
    kills: bool = True  # a process died of it


@dataclass
class Case:
    """The `number`-th case of a seed. Its seed says all that will be done, but for the clock's part."""

    seed: int
    number: int
    folder: Path
    what: str = ""
    faults: list[Fault] = field(default_factory=list)
    wrong: str | None = None  # what is wrong with the outcome; None: as it must be
    runs_on: str = "files"  # or "Spark"
    join: str = "interval"  # the kind of join

    @property
    def name(self) -> str:
        """What everything in this case is drawn from."""
        return f"{self.seed}/{self.number}"

    @property
    def kills(self) -> int:
        return sum(fault.kills for fault in self.faults)


class Broken(Exception):
    """A case has failed, with what is to be told of it."""
