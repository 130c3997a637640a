"""The vocabulary of a lookup join: what it adds to each row of a stream from an external table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LookupType = Literal["inner", "left"]
"""`left`: a row that the table has nothing for comes out with nulls."""


@dataclass(frozen=True)
class LookupKey:
    """The stream's column and the table's column that must be equal, compared in this type."""

    stream: str
    table: str
    type: str


@dataclass(frozen=True)
class LookedUp:
    """A column of the table under its name behind the lookup."""

    name: str
    column: str


@dataclass(frozen=True)
class LookupSpec:
    """`as_of`: the stream's column with the time whose version of the table's row is wanted; `valid_from` and
    `valid_to` are the table's columns that say from when until when a version holds. Without `as_of` every
    row of the table with the key is a match."""

    how: LookupType
    keys: tuple[LookupKey, ...]
    columns: tuple[LookedUp, ...]
    as_of: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the table that are needed, each once."""
        validity = [name for name in (self.valid_from, self.valid_to) if name is not None]
        keys = [key.table for key in self.keys]
        return tuple(dict.fromkeys([*keys, *validity, *(one.column for one in self.columns)]))
