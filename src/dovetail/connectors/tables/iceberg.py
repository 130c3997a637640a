"""`FROM ICEBERG("namespace.table", uri = ..)`: an Iceberg table as of one of its snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.connectors.iceberg_catalog import (
    CATALOG,
    catalog_settings,
    iceberg_words,
    load_table,
    need_libraries,
    require_namespace,
)
from dovetail.connectors.lookup_table import EVERY_TABLE, missing
from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed

if TYPE_CHECKING:
    import pyarrow as pa

_EMPTY = "0"
"""The version of a table without a snapshot, which nobody has written to."""


@dataclass(frozen=True)
class IcebergTableKind:
    name: str = "ICEBERG"
    options: tuple[Option, ...] = (*CATALOG, *EVERY_TABLE)

    def validate(self, options: dict[str, Any]) -> None:
        require_namespace(options)

    def place(self, options: dict[str, Any]) -> str:
        return f"Iceberg table {options['table']}"

    def open(self, given: Revealed) -> LookedUpIceberg:
        need_libraries(given.values, by="FROM ICEBERG")
        return LookedUpIceberg(given.values["table"], catalog_settings(given.values), given)


@dataclass(frozen=True)
class LookedUpIceberg:
    name: str
    settings: dict[str, str] = field(repr=False)
    given: Revealed = field(repr=False)

    @property
    def place(self) -> str:
        return f"Iceberg table {self.name}"

    def version(self) -> str:
        with iceberg_words(self.place, self.given):
            snapshot = load_table(self.settings, self.name).current_snapshot()
            return _EMPTY if snapshot is None else str(snapshot.snapshot_id)

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]:
        """Rows of that snapshot in the columns of today: one that came later is null."""
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        with iceberg_words(self.place, self.given):
            table = load_table(self.settings, self.name)
            if (error := missing(self.place, columns, table.schema().column_names)) is not None:
                raise error
            if version == _EMPTY:
                return
            scan = table.scan() if version is None else table.scan(snapshot_id=int(version))
            read = ArrowScan(table.metadata, table.io, table.schema().select(*columns), AlwaysTrue())
            yield from read.to_record_batches(scan.plan_files())
