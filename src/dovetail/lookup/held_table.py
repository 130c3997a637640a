"""The table that a stream is looked up in, held in memory and read again when it is too old.

Law: a row is looked up in a table that was read at most `refresh` before. If the table cannot be reached,
rows wait: nothing is looked up in an older one. A table that is too large is refused before all of it is
read.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dovetail.connectors.column_types import arrow_type
from dovetail.connectors.lookup_table import LookupTable
from dovetail.errors import InputError
from dovetail.lookup.looked_up import TableInMemory
from dovetail.model.lookup import LookupSpec


@dataclass(frozen=True)
class Broadcast:
    """What to read, into how much memory, and how often. `types`: the declared ones, by column."""

    name: str
    spec: LookupSpec
    types: Mapping[str, str]
    refresh_us: int
    max_bytes: int


@dataclass(frozen=True)
class HeldVersion:
    """`version`: as the table calls it, or a digest of what was read. `read_at_us`: by the host's clock."""

    rows: TableInMemory
    version: str
    bytes: int
    read_at_us: int

    def note(self, name: str) -> dict[str, Any]:
        """For the commit whose rows were looked up in it."""
        return {"table": name, "version": self.version, "read_at_us": self.read_at_us}


class HeldTable:
    """`clock` in seconds, which never goes back."""

    def __init__(
        self, table: LookupTable, what: Broadcast, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._table, self._what, self._clock = table, what, clock
        self._held: HeldVersion | None = None
        self._looked_s = 0.0

    @property
    def place(self) -> str:
        return self._table.place

    def now(self) -> HeldVersion:
        """The table as it may be used now. Raises `Unreachable` if it has to be read and is away."""
        now_s = self._clock()
        if self._held is None or now_s - self._looked_s >= self._what.refresh_us / 1e6:
            version = self._table.version()
            if self._held is None or version is None or version != self._held.version:
                self._held = self._read(version)
            self._looked_s = now_s
        return self._held

    def _read(self, version: str | None) -> HeldVersion:
        what, batches, size = self._what, [], 0
        for batch in self._table.batches(what.spec.read, version):
            size += batch.nbytes
            if size > what.max_bytes:
                raise self._too_large()
            batches.append(batch)
        wanted = pa.schema([(name, arrow_type(what.types[name])) for name in what.spec.read])
        rows = pa.Table.from_batches(batches) if batches else wanted.empty_table()
        rows = pa.table([self._column(rows, field) for field in wanted], schema=wanted)
        kinds = [arrow_type(key.type) for key in what.spec.keys]
        made = TableInMemory(rows, what.spec, kinds)
        return HeldVersion(made, version or _digest(rows), size, time.time_ns() // 1000)

    def _column(self, rows: pa.Table, field: pa.Field) -> pa.ChunkedArray:
        found = rows.column(field.name)
        try:
            return found if found.type.equals(field.type) else found.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"column {field.name} of {self.place} has type {found.type}, and the query declares "
                f"{self._what.types[field.name]}: {' '.join(str(error).split())[:120]}",
                where=f"lookup table {self._what.name}",
                hint="correct the type in CREATE LOOKUP TABLE",
            ) from None

    def _too_large(self) -> InputError:
        mib = f"{self._what.max_bytes / (1 << 20):,.1f} MiB"
        columns = ", ".join(self._what.spec.read)
        return InputError(
            f"lookup table {self._what.name} takes more than the {mib} that it may take in memory",
            where=self.place,
            expected=f"at most {mib} in the columns that are read: {columns}",
            hint="read fewer columns, make the table smaller by a view in its database, raise max_bytes, "
            "or read its changes as a stream and join that",
        )


def _digest(rows: pa.Table) -> str:
    """For what was read, for tables that do not say their version."""
    found = hashlib.sha256()
    for batch in rows.combine_chunks().to_batches():
        found.update(batch.serialize())
    return found.hexdigest()[:16]
