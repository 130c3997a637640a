"""`STORAGE DELTA`: a Delta table.

    tasks    write Parquet files into the table's folder: what its log does not name does not count
    driver   one commit of the log: it adds the files, and says which batch of which writer that is

Delta's protocol keeps the last version of each application in the table's log. A commit with a number that is
there already is refused, also if another process has just written it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.data_files import DataFile, DataFiles, fitted, named, nullable, require_partitions
from dovetail.connectors.extras import need
from dovetail.connectors.options import EVERY, MERGE_EVERY, PARTITIONED, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.errors import PlaceError, PlanError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_NOTED = "dovetail.writer"
_COMMITS = 1000
"""For the table's history that are looked at for other writers."""
_TRIES = 20


@dataclass(frozen=True)
class DeltaKind:
    name: str = "DELTA"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        Option("path", "text", "The table's folder, here or on S3.", required=True),
        PARTITIONED,
        EVERY,
        MERGE_EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        """Any combination will do."""

    def place(self, options: dict[str, Any]) -> str:
        return f"Delta table {options['path']}"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        need("delta", "deltalake", by=f"STORAGE {self.name}")
        path = given.values["path"]
        where = path if "://" in path else os.path.abspath(path)
        parts = given.values[PARTITIONED.name] or ()
        return DeltaSink(where, tuple(parts), given.values[MERGE_EVERY.name], writer)


@dataclass(frozen=True)
class DeltaSink:
    path: str
    partitioned: tuple[str, ...]
    merge_every: int | None
    writer: Writer

    @property
    def place(self) -> str:
        return f"Delta table {self.path}"

    def check(self, schema: pa.Schema) -> None:
        require_partitions(schema, self.partitioned, "DELTA")
        with self._words():
            table = self._table()
            if table is None:
                if "://" not in self.path and os.path.isdir(self.path) and os.listdir(self.path):
                    raise PlaceError(
                        "the folder has files and is no Delta table", where=self.path, expected="an empty one"
                    )
                return
            fitted(schema, _columns(table), self.place)
            stored = tuple(table.metadata().partition_columns)
            if stored != self.partitioned:
                raise PlanError(
                    f"{self.place} is partitioned by {', '.join(stored) or 'nothing'}",
                    where=self.place,
                    expected=f"PARTITIONED BY ({', '.join(stored)})" if stored else "no PARTITIONED BY",
                )
            known = [one.get(_NOTED) for one in table.history(_COMMITS)]
        forget = "write to a new table"
        self.writer.require_alone([one for one in known if one], self.place, forget=forget)

    def prepare(self, schema: pa.Schema) -> None:
        from deltalake import DeltaTable, Schema

        self.check(schema)
        with self._words():
            table, wanted = self._table(), Schema.from_arrow(nullable(schema))
            if table is None:
                DeltaTable.create(self.path, wanted, mode="ignore", partition_by=list(self.partitioned))
                return
            stored = _columns(table).names
            new = [field for field in wanted.fields if field.name not in stored]
            if new:
                table.alter.add_columns(new)

    def output(self, schema: pa.Schema) -> DataFiles:
        with self._words():
            table = self._table()
        stored = fitted(schema, _columns(table) if table is not None else None, self.place)
        return DataFiles(self.path, stored, self.partitioned)

    def last(self) -> int:
        with self._words():
            table = self._table()
            found = None if table is None else table.transaction_version(str(self.writer))
        return -1 if found is None else int(found)

    def commit(self, batch: int, written: Sequence[str]) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError

        added = [_added(file) for file in named(written)]
        who = str(self.writer)
        noted = CommitProperties(
            app_transactions=[Transaction(who, batch)], custom_metadata={_NOTED: who}, max_commit_retries=0
        )
        with self._words():
            for _ in range(_TRIES):
                table = self._table()
                assert table is not None
                if (known := table.transaction_version(who)) is not None and known >= batch:
                    return
                try:
                    table.create_write_transaction(
                        added, "append", table.schema(), list(self.partitioned), commit_properties=noted
                    )
                except CommitFailedError:
                    continue  # somebody else was first: with another batch, or with this one
                if self.merge_every is not None and (batch + 1) % self.merge_every == 0:
                    self._merge()
                return
        raise Unreachable(
            f"others write to {self.place} all the time: no commit got through", where=self.path
        )

    def _merge(self) -> None:
        """Make few large files of many small ones. Rows stay as they are, and readers that have begun too."""
        from deltalake.exceptions import CommitFailedError

        table = self._table()
        assert table is not None
        try:
            table.optimize.compact()
        except CommitFailedError:
            return  # another time

    def _table(self) -> Any:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            return DeltaTable(self.path)
        except TableNotFoundError:
            return None

    @contextmanager
    def _words(self) -> Iterator[None]:
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError) as error:
            text = " ".join(str(error).split())[:300]
            if isinstance(error, OSError) and "://" in self.path:
                raise Unreachable(f"{self.place} cannot be reached: {text}", where=self.path) from None
            raise PlaceError(f"{self.place} cannot be used: {text}", where=self.path) from None


def _columns(table: Any) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(table.schema().to_arrow())


def _added(file: DataFile) -> Any:
    from deltalake.transaction import AddAction

    stats = {
        "numRecords": file.rows,
        "minValues": {name: low for name, (low, _, _) in file.stats.items() if low is not None},
        "maxValues": {name: high for name, (_, high, _) in file.stats.items() if high is not None},
        "nullCount": {name: nulls for name, (_, _, nulls) in file.stats.items()},
    }
    return AddAction(file.path, file.size, file.parts, 0, True, json.dumps(stats))
