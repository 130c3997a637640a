"""`STORAGE ICEBERG`: an Iceberg table, in any catalog that pyiceberg opens.

    tasks    write Parquet files below the table's folder: what no snapshot names does not count
    driver   one commit: a snapshot with the files, and the number of the batch in the table's properties

pyiceberg tries a commit again by itself when somebody else was first, without a look at the properties. A
batch that two processes write would then be there twice. So it may not: we read the table again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.connectors.data_files import (
    DataFiles,
    fitted,
    is_wider,
    named,
    nullable,
    require_partitions,
)
from dovetail.connectors.iceberg_catalog import (
    CATALOG,
    catalog_settings,
    iceberg_words,
    load,
    need_libraries,
    require_namespace,
)
from dovetail.connectors.iceberg_merge import RETRIES, merge_files
from dovetail.connectors.options import EVERY, MERGE_EVERY, PARTITIONED, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.errors import PlaceError, PlanError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_NOTED = "dovetail."
"""Before a writer's name, in the properties of a table: its last batch."""
_TRIES = 20


@dataclass(frozen=True)
class IcebergKind:
    name: str = "ICEBERG"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        *CATALOG,
        PARTITIONED,
        EVERY,
        MERGE_EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        require_namespace(options)

    def place(self, options: dict[str, Any]) -> str:
        return f"Iceberg table {options['table']}"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        values = given.values
        need_libraries(values, by=f"STORAGE {self.name}")
        settings = catalog_settings(values)
        parts, merge_every = tuple(values[PARTITIONED.name] or ()), values[MERGE_EVERY.name]
        return IcebergSink(values["table"], parts, settings, writer, given, merge_every)


@dataclass(frozen=True)
class IcebergSink:
    name: str
    partitioned: tuple[str, ...]
    settings: dict[str, str] = field(repr=False)
    writer: Writer
    given: Revealed = field(repr=False)
    merge_every: int | None = None

    @property
    def place(self) -> str:
        return f"Iceberg table {self.name}"

    @property
    def noted(self) -> str:
        return f"{_NOTED}{self.writer}"

    def check(self, schema: pa.Schema) -> None:
        require_partitions(schema, self.partitioned, "ICEBERG")
        with self._words():
            table = self._table()
            if table is None:
                return
            fitted(_storable(schema), table.schema().as_arrow(), self.place, widens=True)
            spec = table.spec()
            stored = tuple(table.schema().find_column_name(one.source_id) or "" for one in spec.fields)
            if stored != self.partitioned or any(str(one.transform) != "identity" for one in spec.fields):
                what = ", ".join(
                    f"{one.transform}({name})" for one, name in zip(spec.fields, stored, strict=True)
                )
                raise PlanError(
                    f"{self.place} is partitioned by {what or 'nothing'}",
                    where=self.place,
                    expected="the same columns in PARTITIONED BY, as they are",
                )
            known = [name.removeprefix(_NOTED) for name in table.properties if name.startswith(_NOTED)]
        self.writer.require_alone(known, self.place, forget="the property of the table that names it")

    def prepare(self, schema: pa.Schema) -> None:
        self.check(schema)
        with self._words():
            table, wanted = self._table(), nullable(_storable(schema))
            if table is None:
                self._create(wanted)
                return
            changed = _new_or_wider(wanted, table.schema().as_arrow())
            if changed.names:
                with table.update_schema() as update:
                    update.union_by_name(changed)

    def output(self, schema: pa.Schema) -> DataFiles:
        with self._words():
            table = self._require()
            stored = fitted(_storable(schema), table.schema().as_arrow(), self.place)
            return DataFiles(f"{table.location()}/data", stored, self.partitioned, keeps_parts=True)

    def last(self) -> int:
        with self._words():
            table = self._table()
            return -1 if table is None else int(table.properties.get(self.noted, -1))

    def commit(self, batch: int, written: Sequence[str]) -> None:
        from pyiceberg.exceptions import CommitFailedException

        with self._words():
            for _ in range(_TRIES):
                table = self._require()
                if int(table.properties.get(self.noted, -1)) >= batch:
                    return
                files = [f"{table.location()}/data/{file.path}" for file in named(written)]
                table.metadata.properties[RETRIES] = "0"  # in this process only
                try:
                    with table.transaction() as change:
                        change.add_files(files, check_duplicate_files=False)  # their names are new
                        change.set_properties({self.noted: str(batch)})
                except CommitFailedException:
                    continue
                if self.merge_every is not None and (batch + 1) % self.merge_every == 0:
                    merge_files(self._require(), self.partitioned)
                return
        raise Unreachable(
            f"others write to {self.place} all the time: no commit got through", where=self.name
        )

    def _create(self, schema: pa.Schema) -> None:
        from pyiceberg.exceptions import TableAlreadyExistsError

        catalog = self._catalog()
        namespace, warehouse = self.name.rpartition(".")[0], self.settings.get("warehouse")
        # Hive's metastore has a warehouse of its own. Tables are where their database is.
        hives = warehouse is not None and self.settings["type"] == "hive"
        where = {"location": f"{warehouse}/{namespace}.db"} if hives else {}
        catalog.create_namespace_if_not_exists(namespace, where)
        try:
            with catalog.create_table_transaction(self.name, schema) as change:
                if self.partitioned:
                    with change.update_spec() as spec:
                        for name in self.partitioned:
                            spec.add_identity(name)
        except TableAlreadyExistsError:
            return  # another application was first: `output` looks at what it has made

    def _catalog(self) -> Any:
        return load(self.settings)

    def _table(self) -> Any:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalog().load_table(self.name)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _require(self) -> Any:
        table = self._table()
        if table is None:
            raise PlaceError(f"{self.place} is gone", where=self.place, hint="was it dropped while this ran?")
        return table

    def _words(self) -> AbstractContextManager[None]:
        return iceberg_words(self.place, self.given)


def _storable(schema: pa.Schema) -> pa.Schema:
    """Iceberg has whole numbers of 32 and 64 bits."""
    import pyarrow as pa

    small = (pa.int8(), pa.int16())
    return pa.schema([one.with_type(pa.int32()) if one.type in small else one for one in schema])


def _new_or_wider(schema: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """The columns that a table does not have, or not so wide. Files from before keep theirs: whoever reads
    them makes them wider."""
    import pyarrow as pa

    there = {one.name: one.type for one in stored}
    new = [one for one in schema if one.name not in there or is_wider(one.type, there[one.name])]
    return pa.schema(new)
