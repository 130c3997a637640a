"""A sink: an external system that accepts a batch once.

    check    before anything starts: reachable, writable, not used by others, columns fit. Changes nothing
    prepare  make the table, or give it new columns
    output   what a task does with its rows; it says in a short text what it has written
    commit   on the driver: what the tasks of a batch have written counts, once
    last     the last batch that counts

Law: what no commit names does not count, and a batch whose number is not above the last one changes nothing.
A sink keeps the number in the same transaction as the rows. A writer has a name that no other checkpoint has,
so several writers of one table do not mistake their batches for each other's.

A new kind of sink is one class like this and its line in `kinds.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed
from dovetail.errors import StateError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Writer:
    """Who writes: a table of an application, the checkpoint that its batches are numbered in, and the home
    that this is in. A table that is taken out of a query and put in again has another checkpoint in the same
    home."""

    application: str
    table: str
    checkpoint: str
    home: str = "0"

    def __str__(self) -> str:
        return f"{self.application}.{self.table}/{self.home}.{self.checkpoint}"

    def require_alone(self, others: Iterable[str], place: str, *, forget: str) -> None:
        """Refuse a table that this application has filled from another home: it would get every row twice.
        `forget`: what to do to let it be filled again."""
        mine = f"{self.application}.{self.table}/"
        if any(other.startswith(mine) and not other.startswith(f"{mine}{self.home}.") for other in others):
            raise StateError(
                f"{place} has rows of table {self.table} of application {self.application}, written from "
                "another home",
                where=place,
                expected="a place that this home has filled, or a new one",
                hint=f"go on with the home that filled it, or remove its rows and {forget}",
            )


class TaskOutput(Protocol):
    """Is sent to the tasks. `write` gives None if there was no row."""

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None: ...


class Sink(Protocol):
    def check(self, schema: pa.Schema) -> None: ...

    def prepare(self, schema: pa.Schema) -> None: ...

    def output(self, schema: pa.Schema) -> TaskOutput: ...

    def commit(self, batch: int, written: Sequence[str]) -> None: ...

    def last(self) -> int: ...


class SinkKind(Protocol):
    """`name`: as STORAGE calls it. `place` is for people and has no secrets; two tables are in the same place
    if it says so of both. `one_machine`: tasks and driver must be on the same."""

    @property
    def name(self) -> str: ...

    @property
    def one_machine(self) -> bool: ...

    @property
    def options(self) -> tuple[Option, ...]: ...

    def validate(self, options: dict[str, Any]) -> None:
        """Raises a PlanError if the options do not go together, or mean nothing."""

    def place(self, options: dict[str, Any]) -> str: ...

    def open(self, given: Revealed, writer: Writer) -> Sink: ...
