"""A table outside that is read as a whole, now and then: what a stream is looked up in.

    version   what is there now, for as little as possible; None: only reading tells
    batches   its rows as of that version, in the columns that are needed

A new kind of table is one class like this and its line in `lookup_kinds.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed
from dovetail.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 256 << 20
REFRESH_US = 60_000_000

REFRESH = Option(
    "refresh", "interval", "How old the table in memory may be when a row is looked up.", default=REFRESH_US
)
LIMIT = Option("max_bytes", "whole", "The largest table that is held in memory.", default=MAX_BYTES)
VALID_FROM = Option("valid_from", "columns", "Column with the time from which a version of a row is valid.")
VALID_TO = Option("valid_to", "columns", "Column with the time at which it ends, exclusive.")
EVERY_TABLE = (VALID_FROM, VALID_TO, REFRESH, LIMIT)
"""Options that tables of any kind have."""


class LookupTable(Protocol):
    @property
    def place(self) -> str:
        """For people, without secrets."""

    def version(self) -> str | None: ...

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]: ...


class LookupKind(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def options(self) -> tuple[Option, ...]: ...

    def validate(self, options: dict[str, Any]) -> None:
        """Raises a PlanError if the options mean nothing."""

    def place(self, options: dict[str, Any]) -> str: ...

    def open(self, given: Revealed) -> LookupTable: ...


def missing(place: str, columns: Sequence[str], there: Sequence[str]) -> InputError | None:
    """The error if the table lacks a column."""
    lacks = [name for name in columns if name not in there]
    if not lacks:
        return None
    return InputError(
        f"{place} has no column{'s' if len(lacks) > 1 else ''} {', '.join(lacks)}",
        where=place,
        expected=f"columns out of {', '.join(there)}",
        hint="correct the column list of CREATE LOOKUP TABLE",
    )
