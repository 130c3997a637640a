"""What a task writes where a table is made of Parquet files: files of its own, which nobody reads before the
table's commit names them.

Law: a file is whole when a task names it, and a name is used once. Files of a task that died belong to
nobody.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dovetail.errors import PlaceError, PlanError

if TYPE_CHECKING:
    import pyarrow as pa

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
SHORT = 64
"""Longer texts are no use as the least and the greatest of a column."""
_FOR_PARTS = "_dovetail_"
"""Before a column that only says in which folder its rows go."""

_OURS = {"compression": "zstd", "coerce_timestamps": "us"}
_HIVES = {"compression": "snappy", "use_deprecated_int96_timestamps": True}

Stats = tuple[Any, Any, int]


@dataclass(frozen=True)
class DataFile:
    """`path` is below the folder; `parts`: the values of the columns that the table is partitioned by, as
    texts; `stats`: of each other column the smallest and the largest value and the number of nulls."""

    path: str
    size: int
    rows: int
    parts: dict[str, str | None]
    stats: dict[str, Stats]


@dataclass(frozen=True)
class DataFiles:
    """Rows as Parquet files below a folder that pyarrow opens. `keeps_parts`: files also have the columns
    that they are partitioned by, as Iceberg's do and Delta's do not. `for_hive`: Hive before version 4 reads
    times in 96 bits only, and may lack zstd."""

    folder: str
    schema: pa.Schema
    partitioned: tuple[str, ...] = ()
    keeps_parts: bool = False
    for_hive: bool = False

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        import pyarrow as pa
        from pyarrow import dataset, fs

        filesystem, folder = (
            fs.FileSystem.from_uri(self.folder)
            if "://" in self.folder or self.folder.startswith("file:")  # Hive writes file:/folder
            else (None, self.folder)
        )
        written: list[DataFile] = []

        def note(file: Any) -> None:
            below = file.path[len(folder) :].lstrip("/")
            stats = _stats(file.metadata)
            written.append(DataFile(below, file.size, file.metadata.num_rows, _parts(below), stats))

        schema, names = self.schema, list(self.partitioned)
        if self.keeps_parts:
            names = [f"{_FOR_PARTS}{name}" for name in names]
            for name, copy in zip(self.partitioned, names, strict=True):
                schema = schema.append(schema.field(name).with_name(copy))
        parts = pa.schema([schema.field(name) for name in names])
        dataset.write_dataset(
            dataset.Scanner.from_batches(self._batches(rows, schema), schema=schema),
            folder,
            format="parquet",
            filesystem=filesystem,
            partitioning=dataset.partitioning(parts, flavor="hive") if names else None,
            basename_template=f"{uuid.uuid4()}-{{i}}.parquet",
            file_options=dataset.ParquetFileFormat().make_write_options(
                store_schema=False, **(_HIVES if self.for_hive else _OURS)
            ),
            existing_data_behavior="overwrite_or_ignore",  # names are new
            file_visitor=note,
            use_threads=False,
            max_rows_per_group=1 << 20,
        )
        return json.dumps([asdict(file) for file in written]) if written else None

    def _batches(self, rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        copies = [f"{_FOR_PARTS}{name}" for name in self.partitioned] if self.keeps_parts else []
        for batch in rows:
            if batch.num_rows:
                names = [name.removeprefix(_FOR_PARTS) if name in copies else name for name in schema.names]
                columns = [batch.column(name).cast(schema.field(name).type) for name in names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def named(written: Iterable[str]) -> list[DataFile]:
    """What the texts of all tasks say."""
    return [DataFile(**file) for text in written for file in json.loads(text)]


def require_partitions(schema: pa.Schema, columns: Iterable[str], storage: str) -> None:
    """Their values become texts, and the same value must become the same text everywhere."""
    from pyarrow import types

    for name in columns:
        kind = schema.field(name).type
        if not (
            types.is_integer(kind) or types.is_string(kind) or types.is_date(kind) or types.is_boolean(kind)
        ):
            raise PlanError(
                f"STORAGE {storage} cannot be partitioned by {name}, which is {kind}",
                expected="texts, whole numbers, dates or booleans",
                hint="partition by a day: CAST(time AS DATE) AS day",
            )
    if len(set(columns)) == len(schema):
        raise PlanError(
            f"STORAGE {storage} is partitioned by all of its columns",
            expected="at least one column that is stored",
        )


def fitted(rows: pa.Schema, table: pa.Schema | None, place: str, *, widens: bool = False) -> pa.Schema:
    """The columns of these rows as a table stores them: in its types where it has the column. `widens`: it
    can give a column a wider type."""
    import pyarrow as pa

    fields = []
    for field in rows:
        stored = (
            table.field(field.name).type if table is not None and field.name in table.names else field.type
        )
        if widens and is_wider(field.type, stored):
            stored = field.type
        if not _takes(stored, field.type):
            raise PlaceError(
                f"column {field.name} of {place} has type {stored}, and the query gives {field.type}",
                where=place,
                expected=f"{field.name} {stored}",
                hint="CAST the column in the query, give it another name, or write to another table",
            )
        fields.append(pa.field(field.name, field.type if _alike(stored, field.type) else stored))
    return pa.schema(fields)


def nullable(schema: pa.Schema) -> pa.Schema:
    """A later query may lack a column."""
    import pyarrow as pa

    return pa.schema([field.with_nullable(True) for field in schema])


def is_wider(one: Any, other: Any) -> bool:
    """Whether a type has all values of another one, and more."""
    from pyarrow import types

    if types.is_decimal(one) and types.is_decimal(other):
        return bool(one.scale == other.scale and one.precision > other.precision)
    numbers = (types.is_signed_integer, types.is_floating)
    return any(is_one(one) and is_one(other) and one.bit_width > other.bit_width for is_one in numbers)


def _takes(stored: Any, given: Any) -> bool:
    return _alike(stored, given) or is_wider(stored, given)


def _alike(stored: Any, given: Any) -> bool:
    """The same values. Readers call texts, bytes and lists large, or a view, as they like."""

    def plain(kind: Any) -> str:
        return str(kind).replace("large_", "").replace("_view", "").replace("+00:00", "UTC")

    return plain(stored) == plain(given) or str(given).startswith(("list", "struct", "map"))


def _parts(path: str) -> dict[str, str | None]:
    pairs = [folder.partition("=") for folder in path.split("/")[:-1]]
    values = {unquote(name).removeprefix(_FOR_PARTS): unquote(value) for name, _, value in pairs}
    return {name: None if value == NO_VALUE else value for name, value in values.items()}


def _stats(metadata: Any) -> dict[str, Stats]:
    """For the columns whose values have an order that everybody agrees on."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    found: dict[str, Stats] = {}
    for at in range(metadata.num_columns):
        columns = [group.column(at) for group in groups]
        known = [column.statistics for column in columns if column.statistics is not None]
        if len(known) < len(columns) or not all(one.has_null_count for one in known):
            continue
        nulls = sum(one.null_count for one in known)
        ends = [(one.min, one.max) for one in known if one.has_min_max]
        low = _said(min(low for low, _ in ends)) if ends else None
        high = _said(max(high for _, high in ends)) if ends else None
        if "." not in columns[0].path_in_schema:
            found[columns[0].path_in_schema] = (low, high, nulls) if low is not None else (None, None, nulls)
    return found


def _said(value: Any) -> Any:
    """As JSON, None if there is no need to know."""
    if isinstance(value, bool) or isinstance(value, int | datetime.date | datetime.datetime | str) is False:
        return None
    if isinstance(value, str):
        return value if len(value) <= SHORT else None
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond:06d}Z" if value.year > 999 else None
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value
