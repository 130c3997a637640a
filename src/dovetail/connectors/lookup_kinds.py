"""The kinds of tables that CREATE LOOKUP TABLE may name, and what each takes."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.connectors.lookup_table import LookupKind, LookupTable
from dovetail.connectors.options import Value, with_defaults
from dovetail.connectors.secret import reveal
from dovetail.connectors.tables.delta import DeltaTableKind
from dovetail.connectors.tables.duckdb import DuckdbTableKind
from dovetail.connectors.tables.iceberg import IcebergTableKind
from dovetail.connectors.tables.parquet import ParquetTableKind
from dovetail.connectors.tables.postgres import PostgresTableKind

_KINDS: tuple[LookupKind, ...] = (
    ParquetTableKind(),
    DeltaTableKind(),
    IcebergTableKind(),
    PostgresTableKind(),
    DuckdbTableKind(),
)
LOOKUPS: dict[str, LookupKind] = {kind.name: kind for kind in _KINDS}


def open_table(kind: str, options: Iterable[tuple[str, Value]]) -> LookupTable:
    """Nothing is contacted yet, but a missing library or secret is an error now."""
    return LOOKUPS[kind].open(reveal(with_defaults(LOOKUPS[kind].options, options).items()))
