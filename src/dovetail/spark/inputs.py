"""Input tables as streaming DataFrames, with what can be wrong about them found before or as they are
read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dovetail.errors import InputError
from dovetail.plan.physical import Column, FilesSource, InputTable, ScribeSource
from dovetail.plan.statements import CreateInput, CreateTable, Files, Program
from dovetail.spark import category_source
from dovetail.spark.arrow_types import spark_schema

CORRUPT = "_corrupt_record"
BATCH_BYTES = str(512 << 20)
BATCH_ROWS = 4_000_000
_HIDDEN = ("_", ".")


def known_types(program: Program, home: str) -> dict[str, Mapping[str, str]]:
    """By input table: the column types that its source knows. The application's own categories are not there
    yet."""
    written = {statement.storage.category for statement in program if isinstance(statement, CreateTable)}
    known = {}
    for table in program:
        if isinstance(table, CreateInput):
            origin = table.origin
            if isinstance(origin, Files):
                known[table.name] = source_types(
                    FilesSource(origin.path, origin.format, origin.options), home
                )
            elif origin.category not in written:
                known[table.name] = source_types(ScribeSource(origin.category), home)
    return known


def source_types(source: ScribeSource | FilesSource, home: str) -> Mapping[str, str]:
    """Column types that a source knows by itself: Spark SQL names by column; empty where it knows none."""
    if isinstance(source, ScribeSource):
        from dovetail.log.category import Category

        schema = spark_schema(Category.open(home, source.category).schema, f"category {source.category}")
        return {field.name: field.dataType.simpleString() for field in schema}
    if source.format == "parquet":
        schema = spark_schema(_micros(parquet_schema(input_files(source)[0])), source.path)
        types = {field.name: field.dataType.simpleString() for field in schema}
        return {name: "timestamp" if kind == "timestamp_ntz" else kind for name, kind in types.items()}
    return {}


def read_input(spark: SparkSession, table: InputTable, home: str, reader: str, tasks: int) -> DataFrame:
    """The rows of an input table, in its columns and types."""
    if isinstance(table.source, ScribeSource):
        rows = _read_category(spark, table, table.source, home, reader, tasks)
    else:
        rows = _read_files(spark, table, table.source)
        if CORRUPT in rows.columns:
            rows = rows.where(F.col(CORRUPT).isNull())
    return rows.select(*(_as(rows, column) for column in table.columns))


def read_rejects(spark: SparkSession, table: InputTable) -> DataFrame | None:
    """The rows of a JSON or CSV input that cannot be read, as text; None where the format has no such
    rows."""
    if not isinstance(table.source, FilesSource) or table.source.format == "parquet":
        return None
    rows = _read_files(spark, table, table.source)
    return rows.where(F.col(CORRUPT).isNotNull()).select(
        F.input_file_name().alias("file"),
        F.col(CORRUPT).alias("raw"),
        F.struct(*rows.drop(CORRUPT).columns).alias("read"),
    )


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


def input_files(source: FilesSource) -> list[str]:
    """The data files of a directory (or one file), at least one."""
    path = Path(local_path(source.path))
    if "://" in source.path and not source.path.startswith("file:"):
        return []
    if not path.exists():
        raise InputError(
            "the input directory does not exist",
            where=str(path.absolute()),
            expected=f"a directory of {source.format} files",
            hint="correct the path in FROM FILES, or create it and put a first file there",
        )
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    data = [
        str(file)
        for file in files
        if file.is_file() and not any(part.startswith(_HIDDEN) for part in file.relative_to(path).parts)
    ]
    if not data:
        raise InputError(
            "the input directory holds no files",
            where=str(path.absolute()),
            expected=f"{source.format} files",
            hint="put at least one file there: its columns tell the types",
        )
    return data


def parquet_schema(file: str) -> pa.Schema:
    path = local_path(file)
    try:
        return pq.read_schema(path)
    except FileNotFoundError as error:
        raise InputError(
            "the file is gone", where=path, hint="put it back, or run again without it"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"the file is not a whole Parquet file: {str(error).splitlines()[0]}",
            where=path,
            expected="a Parquet file with its footer",
            hint="write it again (under another name, then rename it) or remove it; what was committed stays",
        ) from error


def local_path(path: str) -> str:
    """A path as pyarrow and Python take it; in a URI, Spark writes a blank as `%20`."""
    parsed = urlparse(path)
    return unquote(parsed.path) if parsed.scheme == "file" else path


def _read_category(
    spark: SparkSession, table: InputTable, source: ScribeSource, home: str, reader: str, tasks: int
) -> DataFrame:
    from dovetail.log.category import Category

    category = Category.open(home, source.category)
    missing = [column.name for column in table.columns if column.name not in category.schema.names]
    if missing:
        raise InputError(
            f"category {source.category} has no column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            where=f"input table {table.name}",
            expected=f"columns out of {', '.join(category.schema.names)}",
            hint="correct the column list of CREATE INPUT TABLE",
        )
    names = [column.name for column in table.columns]
    schema = spark_schema(pa.schema([category.schema.field(name) for name in names]), source.category)
    return (
        spark.readStream.format(category_source.NAME)
        .schema(schema)
        .options(home=home, category=source.category, reader=reader, max_rows=BATCH_ROWS, tasks=tasks)
        .load()
    )


def _read_files(spark: SparkSession, table: InputTable, source: FilesSource) -> DataFrame:
    files = input_files(source)
    options = dict(source.options)
    if not any(name.lower().startswith("max") and "trigger" in name.lower() for name in options):
        options["maxBytesPerTrigger"] = BATCH_BYTES
    schema = StructType()
    if source.format == "parquet":
        stored = parquet_schema(files[0]) if files else pa.schema([])
        check_files(files, table.columns, stored)
        for column in table.columns:
            field = stored.field(column.name)
            nanos = pa.types.is_timestamp(field.type) and field.type.unit == "ns"
            kind = LongType() if nanos else spark_schema(pa.schema([field]), source.path)[0].dataType
            schema.add(StructField(column.name, kind, metadata={"nanos": True} if nanos else None))
    else:
        types = {column.name: column.type or "string" for column in table.columns}
        if source.format == "csv":
            options.setdefault("header", "true")
            if options["header"].lower() == "true":
                options.setdefault("enforceSchema", "false")
                types = {name: types.get(name, "string") for name in _csv_header(files, options, table)}
        for name, declared in types.items():
            schema.add(name, StructType.fromDDL(f"value {declared}")["value"].dataType)
        schema.add(StructField(CORRUPT, StringType()))
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    return spark.readStream.format(source.format).schema(schema).options(**options).load(source.path)


def _csv_header(files: list[str], options: Mapping[str, str], table: InputTable) -> list[str]:
    """Spark maps CSV columns by position: so the schema is laid out as the files are."""
    import csv

    separator = options.get("sep", options.get("delimiter", ","))
    with open(files[0], newline="", encoding=options.get("encoding", "utf-8"), errors="replace") as file:
        header = next(csv.reader(file, delimiter=separator), [])
    missing = [column.name for column in table.columns if column.name not in header]
    if missing:
        raise InputError(
            f"the file lacks column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            where=files[0],
            expected=f"a header line with {', '.join(column.name for column in table.columns)}",
            hint=f'its header has {", ".join(header) or "nothing"}; without one say header = "false"',
        )
    return header


def _as(rows: DataFrame, column: Column) -> SparkColumn:
    """A column in the type the table gives it."""
    field = rows.schema[column.name]
    value = F.col(f"`{column.name}`")
    if field.metadata.get("nanos"):
        value = F.expr(f"timestamp_micros((`{column.name}` - pmod(`{column.name}`, 1000)) div 1000)")
    if column.type is not None:
        value = value.cast(column.type)
    return value.alias(column.name)


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
