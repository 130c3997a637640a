"""The columns that say where a row goes: its bucket by a hash of the keys, its commit's sketch by a time."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.model.validity import Validity

HASH, TIME = "_hash", "_time"


@dataclass(frozen=True)
class Placement:
    """`hash` None: all rows are in one bucket. With `validity` the rows are a join's side, and their times
    are judged."""

    hash: str | None
    time: str | None
    validity: Validity | None = None
