"""A case: one join, the faults it met, and its outcome."""

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
    """Case `number` of a seed. The two decide all that happens in it, except what depends on the clock."""

    seed: int
    number: int
    folder: Path
    what: str = ""
    faults: list[Fault] = field(default_factory=list)
    wrong: str | None = None  # what is wrong with the output; None: nothing
    runs_on: str = "files"  # or "Spark"
    join: str = "interval"  # the kind of join

    @property
    def name(self) -> str:
        """The seed of every random choice in this case."""
        return f"{self.seed}/{self.number}"

    @property
    def kills(self) -> int:
        return sum(fault.kills for fault in self.faults)


class Broken(Exception):
    """A case has failed; the message says how."""
