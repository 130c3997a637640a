"""`STORAGE ICEBERG`: an Iceberg table, in any catalog that pyiceberg opens.

    tasks    write Parquet files below the table's folder: what no snapshot names does not count
    driver   one commit: a snapshot with the files, and the number of the batch in the table's properties

pyiceberg tries a commit again by itself when somebody else was first, without a look at the properties. A
batch that two processes write would then be there twice. So it may not: we read the table again.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.connectors.data_files import DataFiles, fitted, named, nullable, require_partitions
from dovetail.connectors.extras import need
from dovetail.connectors.options import EVERY, PARTITIONED, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.errors import DovetailError, PlaceError, PlanError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_NOTED = "dovetail."
"""Before a writer's name, in the properties of a table: its last batch."""
_RETRIES = "commit.retry.num-retries"
_TRIES = 20
_FROM_ENVIRONMENT = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
"""What everybody else on S3 takes from there."""


@dataclass(frozen=True)
class IcebergKind:
    name: str = "ICEBERG"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        Option("table", "text", "The table, with its namespace: `sales.clicks`.", required=True),
        Option(
            "uri",
            "text",
            "The catalog: `sqlite:///catalog.db`, `http://host:8181` or `thrift://host:9083`.",
            required=True,
            secret=True,
        ),
        Option(
            "catalog", "choice", "The catalog's kind.", default="sql", choices=("sql", "rest", "hive", "glue")
        ),
        Option("warehouse", "text", "Where the catalog puts new tables."),
        Option("token", "text", "What a REST catalog asks for.", secret=True),
        PARTITIONED,
        EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        if not all(options["table"].split(".")) or "." not in options["table"]:
            raise PlanError(f"`{options['table']}` names no namespace", expected='table = "namespace.table"')

    def place(self, options: dict[str, Any]) -> str:
        return f"Iceberg table {options['table']}"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        need("iceberg", "pyiceberg.catalog", by=f"STORAGE {self.name}")
        values = given.values
        settings = {"type": values["catalog"], "uri": values["uri"], "token": values["token"]}
        settings |= {name: os.environ.get(variable) for name, variable in _FROM_ENVIRONMENT.items()}
        if values["warehouse"] is not None:
            place = values["warehouse"]
            settings["warehouse"] = place if "://" in place else f"file://{os.path.abspath(place)}"
        settings = {name: value for name, value in settings.items() if value is not None}
        return IcebergSink(values["table"], tuple(values[PARTITIONED.name] or ()), settings, writer, given)


@dataclass(frozen=True)
class IcebergSink:
    name: str
    partitioned: tuple[str, ...]
    settings: dict[str, str] = field(repr=False)
    writer: Writer
    given: Revealed = field(repr=False)

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
            fitted(_storable(schema), table.schema().as_arrow(), self.place)
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
            elif any(name not in table.schema().column_names for name in wanted.names):
                with table.update_schema() as update:
                    update.union_by_name(_only_new(wanted, table.schema().column_names))

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
                table.metadata.properties[_RETRIES] = "0"  # in this process only
                try:
                    with table.transaction() as change:
                        change.add_files(files, check_duplicate_files=False)  # their names are new
                        change.set_properties({self.noted: str(batch)})
                except CommitFailedException:
                    continue
                return
        raise Unreachable(
            f"others write to {self.place} all the time: no commit got through", where=self.name
        )

    def _create(self, schema: pa.Schema) -> None:
        from pyiceberg.exceptions import TableAlreadyExistsError

        catalog = self._catalog()
        catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        try:
            with catalog.create_table_transaction(self.name, schema) as change:
                if self.partitioned:
                    with change.update_spec() as spec:
                        for name in self.partitioned:
                            spec.add_identity(name)
        except TableAlreadyExistsError:
            return  # another application was first: `output` looks at what it has made

    def _catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog("dovetail", **self.settings)

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

    @contextmanager
    def _words(self) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pyiceberg's own, about names that it will change
                yield
        except DovetailError:
            raise
        except Exception as error:  # of pyiceberg, and of whatever its catalog is made of
            text = f"{type(error).__name__}: {' '.join(self.given.hide(error).split())[:300]}"
            if _is_away(error):
                raise Unreachable(
                    f"the catalog of {self.place} cannot be reached: {text}", where=self.place
                ) from None
            raise PlaceError(f"{self.place} cannot be used: {text}", where=self.place) from None


def _is_away(error: BaseException | None) -> bool:
    """A server that does not answer, somewhere among the causes."""
    while error is not None:
        name = type(error).__name__
        if isinstance(error, ConnectionError | TimeoutError) or name in (
            "ServerError",
            "ServiceUnavailableError",
            "TTransportException",
            "CommitStateUnknownException",
        ):
            return True
        if name in ("ConnectionError", "ConnectTimeout", "ReadTimeout") or (
            name == "OperationalError" and "locked" in str(error)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def _storable(schema: pa.Schema) -> pa.Schema:
    """Iceberg has whole numbers of 32 and 64 bits."""
    import pyarrow as pa

    small = (pa.int8(), pa.int16())
    return pa.schema([one.with_type(pa.int32()) if one.type in small else one for one in schema])


def _only_new(schema: pa.Schema, known: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([one for one in schema if one.name not in known])
