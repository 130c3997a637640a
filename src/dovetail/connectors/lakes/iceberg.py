"""`FROM ICEBERG("namespace.table", uri = ..)`: the rows that are appended to an Iceberg table.

A snapshot says what it is: `append` adds files, `replace` writes the same rows into other files, `overwrite`
and `delete` change rows that were there. Snapshots form a chain; what is read is an ancestor of what is there
now, or the table was rolled back, or its history has expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.connectors.iceberg_catalog import (
    CATALOG,
    MERGED,
    catalog_settings,
    iceberg_words,
    load_table,
    need_libraries,
    require_namespace,
)
from dovetail.connectors.lake import EVERY_LAKE, About, Added, LakeFile
from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed
from dovetail.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class IcebergLakeKind:
    name: str = "ICEBERG"
    first: str = "table"
    options: tuple[Option, ...] = (*CATALOG, *EVERY_LAKE)

    def validate(self, options: dict[str, Any]) -> None:
        require_namespace(options)

    def place(self, options: dict[str, Any]) -> str:
        return f"Iceberg table {options['table']}"

    def open(self, given: Revealed) -> IcebergLake:
        need_libraries(given.values, by="FROM ICEBERG")
        return IcebergLake(given.values["table"], catalog_settings(given.values), given)


@dataclass(frozen=True)
class IcebergLake:
    name: str
    settings: dict[str, str] = field(repr=False)
    given: Revealed = field(repr=False)

    @property
    def place(self) -> str:
        return f"Iceberg table {self.name}"

    def about(self) -> About:
        with iceberg_words(self.place, self.given):
            table = self._table()
            snapshot = table.current_snapshot()
            version = None if snapshot is None else int(snapshot.snapshot_id)
            return About(str(table.metadata.table_uuid), version, table.schema().as_arrow())

    def whole(self, version: int) -> list[LakeFile]:
        with iceberg_words(self.place, self.given):
            return _files(self._table().scan(snapshot_id=version).plan_files())

    def changes(self, after: int | None) -> list[Added]:
        with iceberg_words(self.place, self.given):
            table = self._table()
            chain, at = [], table.current_snapshot()
            while at is not None and at.snapshot_id != after:
                chain.append(at)
                parent = at.parent_snapshot_id
                at = None if parent is None else table.snapshot_by_id(parent)
            if after is not None and (at is None or at.snapshot_id != after):
                raise InputError(
                    f"snapshot {after} of {self.place} is none that today's follows from: it was read before",
                    where=self.place,
                    expected="a table that was not rolled back, and whose snapshots have not expired",
                    hint="read it under another name of the input table: it begins with all rows that it has",
                )
            return [self._added(table, snapshot) for snapshot in reversed(chain)]

    def added(self, version: int) -> Added:
        with iceberg_words(self.place, self.given):
            table = self._table()
            return self._added(table, self._snapshot(table, version))

    def before(self, version: int) -> int | None:
        with iceberg_words(self.place, self.given):
            parent = self._snapshot(self._table(), version).parent_snapshot_id
            return None if parent is None else int(parent)

    def _snapshot(self, table: Any, version: int) -> Any:
        found = table.snapshot_by_id(version)
        if found is None:
            raise InputError(
                f"{self.place} has no snapshot {version}", where=self.place, expected="one of its history"
            )
        return found

    def _added(self, table: Any, snapshot: Any) -> Added:
        summary = snapshot.summary
        operation = "append" if summary is None else str(summary.operation.value)
        version = int(snapshot.snapshot_id)
        if summary is not None and summary.additional_properties.get(MERGED) == "true":
            operation = "replace"
        if operation in ("overwrite", "delete"):
            return Added(version, "change", operation=operation)
        if operation == "replace":
            return Added(version, "append", operation=operation)
        scan = table.incremental_append_scan(
            from_snapshot_id_exclusive=snapshot.parent_snapshot_id, to_snapshot_id_inclusive=version
        )
        return Added(version, "append", tuple(_files(scan.plan_files())), operation)

    def read(self, file: LakeFile, columns: Sequence[str]) -> pa.Table:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        with iceberg_words(self.place, self.given):
            table = self._table()
            names = [name for name in columns if name in table.schema().column_names]
            wanted = table.schema().select(*names)
            return ArrowScan(table.metadata, table.io, wanted, AlwaysTrue()).to_table([file.what])

    def _table(self) -> Any:
        return load_table(self.settings, self.name)


def _files(tasks: Any) -> list[LakeFile]:
    found = [LakeFile(str(t.file.file_path), int(t.file.file_size_in_bytes), t) for t in tasks]
    return sorted(found, key=lambda file: file.path)
