"""`STORAGE HIVE`: a table of Hive, made of Parquet files, with a folder for each value of its partitions.

    tasks    write Parquet files into a hidden folder of the table: Hive passes over names that begin with `_`
    driver   replaces one small document, which names the batch and its files: that is the commit
             then moves the files to their partitions, tells the metastore of new ones, and notes that

    table/  day=2026-11-17/0-5f0c..-0.parquet
            _dovetail/writers/<writer>.json      the last batch, and what of it is still to be moved
            _dovetail/staged/<writer>/day=2026-11-17/5f0c..-0.parquet

Law: from the moment the document is replaced, the batch counts. The next writer, whether with the same batch,
the next one or in a new run, first finishes the moves that it names. A move that was made is not made again,
and a file has a name that is used once. So a crash anywhere loses nothing and duplicates nothing.

Why the document says when it is done: people drop old partitions. Files that were moved long ago may be gone
by right, and a partition that was dropped must not come back.

What this cannot do: Hive reads whatever files there are. A reader that comes while files are moved sees part
of a batch. `STORAGE ICEBERG` with `catalog = "hive"` has no such moment.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import posixpath
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.data_files import NO_VALUE, DataFile, DataFiles, fitted, named, require_partitions
from dovetail.connectors.extras import need
from dovetail.connectors.hive_types import arrow_type, hive_type
from dovetail.connectors.metastore import Metastore, addresses_of
from dovetail.connectors.options import EVERY, PARTITIONED, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.connectors.table_folder import TableFolder, plain
from dovetail.errors import CorruptFile, PlaceError, PlanError
from dovetail.log.document import decode, encode

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT, VERSION = "dovetail.hive_writer", 1
_HIDDEN = "_dovetail"
_WRITERS = f"{_HIDDEN}/writers"
_INPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""What Hive itself escapes in the names of folders."""


@dataclass(frozen=True)
class HiveKind:
    name: str = "HIVE"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        Option("table", "text", "The table, with its database: `web.pairs`.", required=True),
        Option(
            "uri",
            "text",
            "The metastore: `thrift://host:9083`. Of several, separated by commas, one must answer.",
            required=True,
        ),
        Option("path", "text", "The folder of a new table. Default: the metastore decides."),
        PARTITIONED,
        EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        if not re.fullmatch(r"\w+\.\w+", options["table"]):
            raise PlanError(
                f"`{options['table']}` names no table of Hive", expected='table = "database.table"'
            )
        addresses_of(options["uri"])

    def place(self, options: dict[str, Any]) -> str:
        return f"Hive table {options['table'].lower()} of {options['uri']}"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        need(
            "hive",
            "pymetastore.hive_metastore.ThriftHiveMetastore",
            "thrift.transport.TSocket",
            by=f"STORAGE {self.name}",
        )
        values = given.values
        path, parts = values["path"], tuple(values[PARTITIONED.name] or ())
        metastore = Metastore(values["uri"], f"Hive table {values['table'].lower()}")
        return HiveSink(values["table"].lower(), path, parts, metastore, writer)


@dataclass(frozen=True)
class StagedPart:
    """Staged files of one partition, whose folder is below the table's. A table without partitions has one
    without values, in its own folder."""

    values: tuple[str, ...]
    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Noted:
    """The last batch of a writer, and what of it is still to be moved."""

    batch: int
    parts: tuple[StagedPart, ...] = ()


@dataclass(frozen=True)
class HiveSink:
    name: str
    path: str | None
    partitioned: tuple[str, ...]
    metastore: Metastore
    writer: Writer

    @property
    def place(self) -> str:
        return self.metastore.place

    @property
    def staged(self) -> str:
        return f"{_HIDDEN}/staged/{self._who}"

    @property
    def noted(self) -> str:
        return f"{_WRITERS}/{self._who}.json"

    @property
    def _who(self) -> str:
        return hashlib.sha256(str(self.writer).encode()).hexdigest()[:24]

    def check(self, schema: pa.Schema) -> None:
        require_partitions(schema, self.partitioned, "HIVE")
        self._require_names(schema)
        with self.metastore.client() as client:
            table = self._table(client)
            if table is None:
                self._require_room(client)
                return
        self._require_ours(table)
        self._fitted(schema, table)
        stored = tuple(column.name for column in table.partitionKeys or ())
        if stored != _lower(self.partitioned):
            raise PlanError(
                f"{self.place} is partitioned by {', '.join(stored) or 'nothing'}",
                where=self.place,
                expected=f"PARTITIONED BY ({', '.join(stored)})" if stored else "no PARTITIONED BY",
            )
        folder = self._folder(table)
        folder.require_writable()
        notes = [f"{_WRITERS}/{name}" for name in folder.names(_WRITERS) if name.endswith(".json")]
        known = [_decoded(folder, note)["writer"] for note in notes]
        forget = f"its documents in {folder.below(_WRITERS)}"
        self.writer.require_alone(known, self.place, forget=forget)

    def prepare(self, schema: pa.Schema) -> None:
        self.check(schema)
        with self.metastore.client() as client:
            table = self._table(client)
            if table is None:
                table = self._created(client, schema)
            self._add_columns(client, table, schema)
            folder = self._folder(table)
            for hidden in (_WRITERS, self.staged):
                folder.make(hidden)
            with folder.alone(f"{self.noted}.lock"):
                self.roll_forward(client, table, folder, self._read(folder))
                folder.clear(self.staged)  # files of batches that never counted

    def output(self, schema: pa.Schema) -> DataFiles:
        with self.metastore.client() as client:
            table = self._require(client)
        stored, folder = self._fitted(schema, table), self._folder(table)
        return DataFiles(folder.below(self.staged), stored, self.partitioned, for_hive=True)

    def last(self) -> int:
        with self.metastore.client() as client:
            table = self._table(client)
        return -1 if table is None else self._read(self._folder(table)).batch

    def commit(self, batch: int, written: Sequence[str]) -> None:
        with self.metastore.client() as client:
            table = self._require(client)
            folder = self._folder(table)
            with folder.alone(f"{self.noted}.lock"):
                before = self._read(folder)
                # The document has room for one batch: the last one is moved before it is forgotten.
                self.roll_forward(client, table, folder, before)
                if batch <= before.batch:
                    return
                now = Noted(batch, self._parts(client, table, folder, named(written)))
                # On disk before they count: else a loss of power could leave a batch without its rows.
                folder.sync(f"{self.staged}/{file}" for part in now.parts for file in part.files)
                self._note(folder, now)
                self.roll_forward(client, table, folder, now)

    def roll_forward(self, client: Any, table: Any, folder: TableFolder, noted: Noted) -> None:
        """Files first, then partitions: a partition that appears has all of its rows."""
        if not noted.parts:
            return
        folder.move(
            # The empty text and null have two folders while files are staged, and one at last. Files of one
            # task may have the same name there: so they are numbered.
            (f"{self.staged}/{file}", posixpath.join(part.folder, f"{number}-{posixpath.basename(file)}"))
            for part in noted.parts
            for number, file in enumerate(part.files)
        )
        self._add_partitions(client, table, [part for part in noted.parts if part.values])
        self._note(folder, Noted(noted.batch))

    def _parts(
        self, client: Any, table: Any, folder: TableFolder, files: Sequence[DataFile]
    ) -> tuple[StagedPart, ...]:
        """Where files belong: in the folders of their partitions as the metastore has them, or as Hive would
        name new ones."""
        keys = [column.name for column in table.partitionKeys or ()]
        found: dict[tuple[str, ...], list[str]] = {}
        for file in files:
            # Hive has no empty text there: it reads the folder's name as null.
            found.setdefault(tuple(file.parts[one] or NO_VALUE for one in self.partitioned), []).append(
                file.path
            )
        if not keys:
            return tuple(StagedPart(values, "", tuple(paths)) for values, paths in found.items())
        names = {values: _folder_name(keys, values) for values in found}
        there = client.get_partitions_by_names(*self._names, list(names.values()))
        places = {tuple(one.values): self._below(folder, one.sd.location) for one in there}
        return tuple(
            StagedPart(values, places.get(values, names[values]), tuple(paths))
            for values, paths in found.items()
        )

    def _below(self, folder: TableFolder, location: str) -> str:
        where = plain(location)
        if not where.startswith(f"{folder.url}/"):
            raise PlaceError(
                f"a partition of {self.place} is elsewhere",
                where=location,
                expected=f"a folder below {folder.url}",
                hint="move the partition there, or write to another table",
            )
        return where[len(folder.url) + 1 :]

    def _add_partitions(self, client: Any, table: Any, parts: Sequence[StagedPart]) -> None:
        from pymetastore.hive_metastore.ttypes import AddPartitionsRequest, Partition

        if not parts:
            return
        made = [
            Partition(
                values=list(part.values),
                dbName=table.dbName,
                tableName=table.tableName,
                createTime=int(time.time()),
                sd=_storage(table.sd.cols, f"{table.sd.location.rstrip('/')}/{part.folder}"),
                parameters={},
            )
            for part in parts
        ]
        client.add_partitions_req(
            AddPartitionsRequest(table.dbName, table.tableName, made, ifNotExists=True, needResult=False)
        )

    def _read(self, folder: TableFolder) -> Noted:
        if folder.read(self.noted) is None:
            return Noted(-1)
        body = _decoded(folder, self.noted)
        parts = (
            StagedPart(tuple(one["values"]), one["folder"], tuple(one["files"])) for one in body["parts"]
        )
        return Noted(body["batch"], tuple(parts))

    def _note(self, folder: TableFolder, noted: Noted) -> None:
        parts = [{"values": one.values, "folder": one.folder, "files": one.files} for one in noted.parts]
        body = {"writer": str(self.writer), "batch": noted.batch, "parts": parts}
        folder.replace(self.noted, encode(FORMAT, VERSION, body))

    @property
    def _names(self) -> tuple[str, str]:
        database, _, table = self.name.partition(".")
        return database, table

    def _table(self, client: Any) -> Any:
        from pymetastore.hive_metastore.ttypes import GetTableRequest, NoSuchObjectException
        from thrift.Thrift import TApplicationException

        try:
            try:
                return client.get_table_req(GetTableRequest(*self._names)).table
            except TApplicationException as error:
                if error.type != TApplicationException.UNKNOWN_METHOD:
                    raise
                return client.get_table(*self._names)  # for a metastore too old to know the other
        except NoSuchObjectException:
            return None

    def _require(self, client: Any) -> Any:
        table = self._table(client)
        if table is None:
            raise PlaceError(f"{self.place} is gone", where=self.place, hint="was it dropped while this ran?")
        return table

    def _folder(self, table: Any) -> TableFolder:
        return TableFolder(plain(table.sd.location), self.place)

    def _require_room(self, client: Any) -> None:
        """Files that are there already would be rows of a new table."""
        from pymetastore.hive_metastore.ttypes import NoSuchObjectException

        if self.path is not None:
            where = plain(self.path)
        else:
            database, table = self._names
            try:
                where = plain(f"{client.get_database(database).locationUri}/{table}")
            except NoSuchObjectException:
                return
        folder = TableFolder(where, self.place)
        folder.require_writable()
        if not folder.is_empty():
            raise PlaceError(
                f"the folder of {self.place} has files, and the metastore knows no such table",
                where=where,
                expected="an empty one",
                hint="name another one, or make a table of these files in Hive: CREATE EXTERNAL TABLE .. "
                "LOCATION .., and MSCK REPAIR TABLE",
            )

    def _require_ours(self, table: Any) -> None:
        said, sd = table.parameters or {}, table.sd
        trouble = None
        if table.tableType == "VIRTUAL_VIEW":
            trouble = "is a view"
        elif said.get("table_type", "").lower() == "iceberg":
            trouble = "is an Iceberg table, for STORAGE ICEBERG"
        elif said.get("transactional") == "true":
            trouble = "is transactional, which only Hive itself can write"
        elif (sd.inputFormat, sd.serdeInfo.serializationLib) != (_INPUT, _SERDE):
            trouble = f"is not stored as Parquet, but as {(sd.inputFormat or 'nothing').rpartition('.')[2]}"
        elif sd.bucketCols:
            trouble = "is bucketed"
        if trouble:
            raise PlaceError(
                f"{self.place} {trouble}",
                where=self.place,
                expected="a plain table, STORED AS PARQUET",
                hint="write to another table: one that does not exist is made",
            )
        if self.path is not None and plain(self.path) != plain(sd.location):
            raise PlaceError(
                f"{self.place} is elsewhere",
                where=sd.location,
                expected=f"no path, or that one, not {self.path}",
            )

    def _require_names(self, schema: pa.Schema) -> None:
        if len(set(_lower(schema.names))) < len(schema):
            raise PlanError(
                "two columns differ in upper and lower case only, which are the same to Hive",
                where=self.place,
                hint="give one of them another name in the query",
            )

    def _fitted(self, schema: pa.Schema, table: Any) -> pa.Schema:
        """The columns of these rows in the types that the table has them in."""
        import pyarrow as pa

        kinds = {one.name: one.type.lower() for one in (*table.sd.cols, *(table.partitionKeys or ()))}
        stored = []
        for field in schema:
            kind = kinds.get(field.name.lower(), hive_type(field.type))
            known = field.type if kind == hive_type(field.type) else arrow_type(kind)
            if known is None:
                raise PlaceError(
                    f"column {field.name} of {self.place} has type {kind}, and the query gives {field.type}",
                    where=self.place,
                    expected=f"{field.name} {hive_type(field.type)}",
                    hint="give the column another name, or write to another table",
                )
            stored.append(field.with_type(known))
        return fitted(schema, pa.schema(stored), self.place)

    def _created(self, client: Any, schema: pa.Schema) -> Any:
        from pymetastore.hive_metastore.ttypes import (
            AlreadyExistsException,
            Database,
            NoSuchObjectException,
            Table,
        )

        database, name = self._names
        try:
            client.get_database(database)
        except NoSuchObjectException:
            with suppress(AlreadyExistsException):
                client.create_database(Database(name=database, parameters={}))
        location = None if self.path is None else _location(self.path)
        columns = {one.name.lower(): one for one in _columns(schema)}
        keys = [columns.pop(one) for one in _lower(self.partitioned)]
        made = Table(
            tableName=name,
            dbName=database,
            owner=_user(),
            createTime=int(time.time()),
            sd=_storage(list(columns.values()), location),
            partitionKeys=keys,
            parameters={"EXTERNAL": "TRUE"},
            tableType="EXTERNAL_TABLE",
        )
        with suppress(AlreadyExistsException):  # another application was first: `output` looks at its table
            client.create_table(made)
        return self._require(client)

    def _add_columns(self, client: Any, table: Any, schema: pa.Schema) -> None:
        known = {one.name for one in (*table.sd.cols, *(table.partitionKeys or ()))}
        new = [one for one in _columns(schema) if one.name not in known]
        if new:
            table.sd.cols = [*table.sd.cols, *new]
            # Each partition has its own columns, by which Hive reads it: a late row may still get there.
            client.alter_table_with_cascade(*self._names, table, True)


def _location(path: str) -> str:
    """Without a scheme, Hadoop would look for the folder in its own default place."""
    return path if "://" in path else f"file:{plain(path)}"


def _columns(schema: pa.Schema) -> list[Any]:
    from pymetastore.hive_metastore.ttypes import FieldSchema

    return [FieldSchema(field.name.lower(), hive_type(field.type), None) for field in schema]


def _storage(columns: list[Any], location: str | None) -> Any:
    from pymetastore.hive_metastore.ttypes import SerDeInfo, StorageDescriptor

    serde = SerDeInfo(serializationLib=_SERDE, parameters={"serialization.format": "1"})
    return StorageDescriptor(
        cols=columns,
        location=location,
        inputFormat=_INPUT,
        outputFormat=_OUTPUT,
        compressed=False,
        numBuckets=-1,
        serdeInfo=serde,
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def _decoded(folder: TableFolder, path: str) -> dict[str, Any]:
    where = folder.below(path)
    remedy = "restore it from a backup: without it nobody knows which batches the table has"
    body = decode(folder.read(path) or b"", FORMAT, VERSION, where=where, remedy=remedy)
    if not isinstance(body.get("writer"), str) or not isinstance(body.get("batch"), int):
        raise CorruptFile("the document says nothing about a writer", where=where, hint=remedy)
    return body


def _folder_name(keys: Sequence[str], values: Sequence[str]) -> str:
    return "/".join(f"{_escaped(key)}={_escaped(value)}" for key, value in zip(keys, values, strict=True))


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _lower(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"uid-{os.getuid()}"
