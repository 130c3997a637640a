"""Parquet inputs: what their footers say, and that all files of an input say the same.

Spark reads a file with another schema as nulls, or fails in the middle with an error that puzzles. So footers
are looked at before Spark reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import LongType, StructField, StructType

from dovetail.errors import InputError
from dovetail.plan.physical import Column, InputTable
from dovetail.spark.arrow_types import spark_schema
from dovetail.spark.input_files import local_path

NANOS = "nanos"
"""Metadata of a column whose numbers are nanoseconds since the epoch."""


def stream_schema(files: Sequence[str], table: InputTable, place: str) -> StructType:
    """How Spark is to read the files: in their own types, and nanoseconds, which it does not have, as
    numbers. Files on another filesystem are not looked at: there the table's types are taken."""
    if not files:
        declared = ", ".join(f"`{column.name}` {column.type or 'STRING'}" for column in table.columns)
        return cast("StructType", StructType.fromDDL(declared))
    stored = parquet_schema(files[0])
    check_files(files, table.columns, stored)
    schema = StructType()
    for column in table.columns:
        field = stored.field(column.name)
        nanos = pa.types.is_timestamp(field.type) and field.type.unit == "ns"
        kind = LongType() if nanos else spark_schema(pa.schema([field]), place)[0].dataType
        schema.add(StructField(column.name, kind, metadata={NANOS: True} if nanos else None))
    return schema


def column_types(file: str, place: str) -> dict[str, str]:
    """The columns of a file by name, in Spark's types. Times without a zone are UTC."""
    types = {
        field.name: field.dataType.simpleString()
        for field in spark_schema(_micros(parquet_schema(file)), place)
    }
    return {name: "timestamp" if kind == "timestamp_ntz" else kind for name, kind in types.items()}


def check_files(
    files: Iterable[str], columns: Iterable[Column], first: pa.Schema | None = None
) -> pa.Schema | None:
    """Parquet files must have a footer, the columns of the table, and the types of the first file."""
    names = [column.name for column in columns]
    for file in files:
        schema = parquet_schema(file)
        missing = [name for name in names if name not in schema.names]
        if missing:
            raise InputError(
                f"the file lacks column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                where=file,
                expected=f"columns {', '.join(names)}",
                hint=f"it has {', '.join(schema.names)}; remove the file or correct the table's columns",
            )
        if first is None:
            first = schema
        for name in names:
            if not schema.field(name).type.equals(first.field(name).type):
                raise InputError(
                    f"the file has another type for column {name}: {schema.field(name).type}",
                    where=file,
                    expected=str(first.field(name).type),
                    hint="rewrite it with the type that the others have, or keep it in another directory",
                )
    return first


def parquet_schema(file: str) -> pa.Schema:
    path = local_path(file)
    with _readable(path, "the file is not a whole Parquet file"):
        schema = pq.read_schema(path)
    return schema


def read_row_group(path: str, number: int, columns: list[str]) -> pa.Table:
    with _readable(path, "the file cannot be read"):
        rows = pq.ParquetFile(path).read_row_group(number, columns=columns, use_threads=False)
    return rows


@contextmanager
def _readable(path: str, otherwise: str) -> Iterator[None]:
    """Trouble with a file as an error that names it and says what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(
            "the file is gone", where=path, hint="put it back, or run again without it"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{otherwise}: {str(error).splitlines()[0]}",
            where=path,
            expected="a whole Parquet file with its footer",
            hint="write it again (under another name, then rename it) or remove it; what was committed stays",
        ) from error


def _micros(schema: pa.Schema) -> pa.Schema:
    """Nanosecond timestamps as the microseconds they are read as."""
    return pa.schema(
        [
            pa.field(field.name, pa.timestamp("us", field.type.tz))
            if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
            else field
            for field in schema
        ]
    )
