"""Input tables as streaming DataFrames, with what can be wrong about them found before or as they are
read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from dovetail.connectors.kafka_client import cluster_of
from dovetail.connectors.lake_kinds import open_lake
from dovetail.connectors.schema_registry import NAMES as REGISTRY
from dovetail.connectors.schema_registry import NoSchema, registry_of
from dovetail.connectors.secret import reveal
from dovetail.errors import CategoryNotFound, DovetailError, InputError
from dovetail.log.category import Category, list_categories
from dovetail.plan.build import input_table
from dovetail.plan.dialect import quoted
from dovetail.plan.kafka_options import BY_REGISTRY, FIELDS
from dovetail.plan.physical import (
    Column,
    FilesSource,
    InputTable,
    KafkaSource,
    LakeSource,
    ScribeSource,
    Source,
    TableSource,
)
from dovetail.plan.statements import CreateInput, CreateTable, Program
from dovetail.slicing.inferred_columns import inferred_columns
from dovetail.slicing.input_files import MissingInput, csv_header, input_files, local_path, partition_names
from dovetail.slicing.parquet_files import common_schema, whole_schema
from dovetail.spark.arrow_types import spark_schema
from dovetail.spark.category_source import CategorySource
from dovetail.spark.own_source import own_source
from dovetail.spark.s3 import spark_uri

CORRUPT = "_corrupt_record"
"""Where Spark, in its permissive mode, keeps the text of a JSON or CSV row that it cannot read. The slicer
takes the rows without it, the query of the rejects those with it, so that none is lost."""
NANOS = "nanos"
"""Metadata of a column whose numbers are nanoseconds since the epoch."""
BATCH_BYTES = str(512 << 20)
BATCH_ROWS = 4_000_000
MAX_FILE_AGE = "36500d"
"""By default Spark silently skips files a week older than the newest it has seen, such as copies that kept
their times."""


def known_types(program: Program, home: str) -> dict[str, Mapping[str, str]]:
    """By input table: the column types that its source knows. The application's own categories are not there
    yet."""
    written = {statement.storage.category for statement in program if isinstance(statement, CreateTable)}
    known = {}
    for table in program:
        if isinstance(table, CreateInput):
            origin = table.origin
            if isinstance(origin, FilesSource):
                known[table.name] = source_types(origin, home, inferring=not table.columns)
            elif isinstance(origin, ScribeSource) and origin.category not in written:
                known[table.name] = source_types(ScribeSource(origin.category), home)
            elif isinstance(origin, KafkaSource | LakeSource) and not table.columns:
                known[table.name] = source_types(origin, home, inferring=True)
    return known


@dataclass(frozen=True)
class SourceFindings:
    """What `check` finds when it looks at the inputs: types by table and column, sources that contradict
    their declaration, and sources that are not there yet."""

    types: dict[str, Mapping[str, str]]
    errors: tuple[DovetailError, ...]
    warnings: tuple[str, ...]


def seen_sources(program: Program, home: str) -> SourceFindings:
    """Look at every input that can be reached from here. A source that is missing is a warning, because it
    may come before the application runs; one that lacks a declared column is an error."""
    unseen = {statement.storage.category for statement in program if isinstance(statement, CreateTable)}
    has_home = bool(list_categories(home))
    types: dict[str, Mapping[str, str]] = {}
    errors: list[DovetailError] = []
    warnings: list[str] = []
    for table in program:
        if not isinstance(table, CreateInput):
            continue
        if isinstance(table.origin, ScribeSource) and (table.origin.category in unseen or not has_home):
            continue  # the application writes it, or there is no home to look into
        if isinstance(table.origin, TableSource) or (
            isinstance(table.origin, KafkaSource | LakeSource) and table.columns
        ):
            continue  # its columns are declared, and known when it is read
        try:
            types[table.name] = _seen_types(input_table(table), home)
        except (CategoryNotFound, MissingInput) as error:
            warnings.append(f"input table {table.name}: {error.what} ({error.where}); `run` needs it")
        except DovetailError as error:
            place = program.source.show(table.span)
            what = f"input table {table.name}: {error.what}"
            found = f"{error.hint} ({error.where})" if error.hint else error.where
            errors.append(InputError(what, where=place, expected=error.expected, hint=found))
    return SourceFindings(types, tuple(errors), tuple(warnings))


def _seen_types(table: InputTable, home: str) -> Mapping[str, str]:
    """The types that a source knows, after the checks that a run makes when it opens the source."""
    if isinstance(table.source, ScribeSource):
        require_columns(Category.open(home, table.source.category), table)
    elif isinstance(table.source, FilesSource):
        files = input_files(table.source.path, table.source.format)
        if table.source.format == "parquet":
            parts = partition_names(table.source.path, files)
            wanted = [column.name for column in table.columns] or whole_schema(files).names
            common_schema(files, [name for name in wanted if name not in parts])
        elif files and table.columns:
            text_schema(files, table, table.source)
    return source_types(table.source, home, inferring=not table.columns)


def source_types(source: Source, home: str, *, inferring: bool = False) -> Mapping[str, str]:
    """Column types that a source knows by itself: Spark SQL names by column; empty where it knows none.
    `inferring`: the table names no columns, so those of a text file are guessed from its beginning."""
    if isinstance(source, ScribeSource):
        schema = spark_schema(Category.open(home, source.category).schema, f"category {source.category}")
        return {field.name: field.dataType.simpleString() for field in schema}
    if isinstance(source, KafkaSource):
        return _topic_types(source) if inferring else {}
    if isinstance(source, LakeSource):
        return _lake_types(source) if inferring else {}
    if source.format == "parquet":
        files = input_files(source.path, source.format)
        parts = dict.fromkeys(partition_names(source.path, files), "string")
        return _column_types(files, source.path) | parts if files else {}
    if inferring and (files := input_files(source.path, source.format)):
        schema = inferred_columns(files[0], source.format, dict(source.options))
        types = {field.name: field.dataType.simpleString() for field in spark_schema(schema, source.path)}
        return types | dict.fromkeys(partition_names(source.path, files), "string")
    return {}


def _topic_types(source: KafkaSource) -> dict[str, str]:
    """Those of the newest schema of a topic or of its first records, and of the other parts of a record that
    are columns."""
    schema = _schema_types(source) if source.format in BY_REGISTRY else _first_types(source)
    types = {field.name: field.dataType.simpleString() for field in spark_schema(schema, source.topic)}
    types = {name: "timestamp" if kind == "timestamp_ntz" else kind for name, kind in types.items()}
    given = dict(source.options)
    parts = {str(given[part]): kinds[0].lower() for part, kinds in FIELDS.items() if part in given}
    named = {name.lower() for name in parts}
    return {name: kind for name, kind in types.items() if name.lower() not in named} | parts


def _first_types(source: KafkaSource) -> pa.Schema:
    from dovetail.kafka.first_records import topic_columns  # with kernels, which most queries need not load
    from dovetail.kafka.topic import Topic

    given = reveal([*source.options, ("brokers", source.brokers)]).values
    options = {name: str(given[name]) for name in ("sep", "times") if name in given}
    return topic_columns(Topic(cluster_of(given), source.topic), source.format, options)


def _schema_types(source: KafkaSource) -> pa.Schema:
    from dovetail.connectors.flat_field import UnreadableSchema
    from dovetail.connectors.flat_schema import fields_of  # with kernels, which most queries need not load

    subject = f"{source.topic}-value"
    given = reveal((name, value) for name, value in source.options if name in REGISTRY).values
    registry = registry_of(given)
    assert registry is not None, "the parser asks for it"
    declare = "declare the columns: CREATE INPUT TABLE name (column type, ...) FROM KAFKA(...)"
    try:
        schema = registry.newest(subject)
    except NoSchema as error:
        raise InputError(
            f"the columns of topic {source.topic} are not known: {error}",
            where=registry.where,
            expected=f"a schema under {subject}",
            hint=declare,
        ) from None
    try:
        if schema.kind != source.format.upper():
            raise UnreadableSchema(f"it is one of {schema.kind}, and the format is {source.format}")
        fields = [(one.name, _of_spark(one.arrow)) for one in fields_of(schema) if one.name and one.arrow]
    except (UnreadableSchema, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"the schema under {subject} cannot be read: {error}", where=registry.where, hint=declare
        ) from None
    return pa.schema(fields)


def _of_spark(kind: pa.DataType) -> pa.DataType:
    """The unit of Spark's times, and its whole numbers, which have signs."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.int64() if pa.types.is_unsigned_integer(kind) else kind


def _lake_types(source: LakeSource) -> dict[str, str]:
    schema = open_lake(source.lake, source.options).about().schema
    plain = pa.schema([field.with_type(_plain(field.type)) for field in schema])
    types = {field.name: field.dataType.simpleString() for field in spark_schema(plain, source.place)}
    return {name: "timestamp" if kind == "timestamp_ntz" else kind for name, kind in types.items()}


def _plain(kind: pa.DataType) -> pa.DataType:
    """Libraries call texts and bytes large, or a view, as they like."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def _column_types(files: Sequence[str], place: str) -> dict[str, str]:
    """The columns of Parquet files by name, in Spark's types. Times without a zone are UTC."""
    columns = [
        pa.field(field.name, pa.timestamp("us", field.type.tz)) if _is_nanos(field.type) else field
        for field in whole_schema(files)
    ]
    types = {field.name: field.dataType.simpleString() for field in spark_schema(pa.schema(columns), place)}
    return {name: "timestamp" if kind == "timestamp_ntz" else kind for name, kind in types.items()}


Portion = tuple[int, int] | tuple[str, ...]
"""Part of a source: its commits from one up to another, or some of its files."""


def read_input(
    spark: SparkSession,
    table: InputTable,
    home: str,
    reader: tuple[str, str],
    tasks: int,
    only: Portion | None = None,
) -> DataFrame:
    """The rows of an input table, in its columns and types. `reader`: the application and its stage. `only`:
    not as a stream, but the rows of this part of it."""
    if isinstance(table.source, ScribeSource):
        rows = _read_category(spark, table, table.source, home, reader, tasks, only)
    else:
        assert isinstance(table.source, FilesSource), "a topic is taken into a category first"
        rows = _read_files(spark, table, table.source, only)
        if CORRUPT in rows.columns:
            rows = rows.where(F.col(CORRUPT).isNull())
    return rows.selectExpr(*(_as(rows, column) for column in table.columns))


def read_rejects(spark: SparkSession, table: InputTable) -> DataFrame | None:
    """The rows of a JSON or CSV input that cannot be read, as text; None where the format has no such
    rows."""
    if not isinstance(table.source, FilesSource) or table.source.format == "parquet":
        return None
    return rejects_of(_read_files(spark, table, table.source))


def rejects_of(rows: DataFrame) -> DataFrame:
    """Those of rows that were read with `CORRUPT` among their columns."""
    return rows.where(F.col(CORRUPT).isNotNull()).select(
        F.input_file_name().alias("file"),
        F.col(CORRUPT).alias("raw"),
        F.struct(*map(quoted, rows.drop(CORRUPT).columns)).alias("read"),
    )


def _read_category(
    spark: SparkSession,
    table: InputTable,
    source: ScribeSource,
    home: str,
    reader: tuple[str, str],
    tasks: int,
    only: Portion | None,
) -> DataFrame:
    category = Category.open(home, source.category)
    require_columns(category, table)
    names = [column.name for column in table.columns]
    schema = spark_schema(pa.schema([category.schema.field(name) for name in names]), source.category)
    if only is not None:
        first, stop = only
        return (
            spark.read.format(own_source(spark, CategorySource))
            .schema(schema)
            .options(home=home, category=source.category, first=first, stop=stop, tasks=tasks)
            .load()
        )
    return (
        spark.readStream.format(own_source(spark, CategorySource))
        .schema(schema)
        .options(home=home, category=source.category, max_rows=BATCH_ROWS, tasks=tasks)
        .options(application=reader[0], reader=".".join(reader))
        .load()
    )


def require_columns(category: Category, table: InputTable) -> None:
    missing = [column.name for column in table.columns if column.name not in category.schema.names]
    if missing:
        raise InputError(
            f"category {category.name} has no column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            where=f"input table {table.name}",
            expected=f"columns out of {', '.join(category.schema.names)}",
            hint="correct the column list of CREATE INPUT TABLE",
        )


def _read_files(
    spark: SparkSession, table: InputTable, source: FilesSource, only: Portion | None = None
) -> DataFrame:
    files = input_files(source.path, source.format)
    if source.format == "parquet":
        schema, options = _parquet_schema(files, table, source.path), dict(source.options)
    else:
        schema, options = text_schema(files, table, source)
    if only is not None:
        some = [spark_uri(str(file)) for file in only]
        rows = spark.read.format(source.format).schema(schema).options(**options)
        return rows.load(some) if some else spark.createDataFrame([], schema)
    if not any(name.lower().startswith("max") and "trigger" in name.lower() for name in options):
        options["maxBytesPerTrigger"] = BATCH_BYTES
    if not any(name.lower() == "maxfileage" for name in options):
        options["maxFileAge"] = MAX_FILE_AGE
    return (
        spark.readStream.format(source.format)
        .schema(schema)
        .options(**options)
        .load(_stream_path(source.path))
    )


def _parquet_schema(files: Sequence[str], table: InputTable, place: str) -> StructType:
    """How Spark is to read Parquet files: in their own types, and nanoseconds, which it does not have, as
    numbers. We do not look at files on another filesystem: there the table's types are taken."""
    if not files:
        declared = ", ".join(f"`{column.name}` {column.type or 'STRING'}" for column in table.columns)
        return cast("StructType", StructType.fromDDL(declared))
    parts = partition_names(place, files)
    stored = common_schema(files, [column.name for column in table.columns if column.name not in parts])
    schema = StructType()
    for column in table.columns:
        if column.name in parts:  # Spark reads it from the path, in the type that it is given
            schema.add(column.name, DataType.fromDDL(column.type or "string"))
            continue
        field = stored.field(column.name)
        nanos = _is_nanos(field.type)
        kind = LongType() if nanos else spark_schema(pa.schema([field]), place)[0].dataType
        schema.add(StructField(column.name, kind, metadata={NANOS: True} if nanos else None))
    return schema


def text_schema(
    files: Sequence[str], table: InputTable, source: FilesSource
) -> tuple[StructType, dict[str, str]]:
    """How Spark is to read JSON or CSV files, in the declared types, and with which options."""
    options = {**dict(source.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    types = {column.name: column.type or "string" for column in table.columns}
    if source.format == "csv":
        options.setdefault("header", "true")
        if options["header"].lower() == "true" and files:  # elsewhere the table's columns are the files'
            options.setdefault("enforceSchema", "false")
            separator = options.get("sep", options.get("delimiter", ","))
            parts = {n: types[n] for n in partition_names(source.path, files) if n in types}
            wanted = [name for name in types if name not in parts]
            header = csv_header(files[0], separator, options.get("encoding", "utf-8"), wanted)
            # Spark takes them by position, and those of the path last.
            types = {name: types.get(name, "string") for name in header} | parts
    schema = StructType()
    for name, declared in types.items():
        schema.add(name, DataType.fromDDL(declared))
    schema.add(StructField(CORRUPT, StringType()))
    return schema, options


def _stream_path(path: str) -> str:
    """A path as Spark's file stream takes it: a directory, or a pattern. A single file becomes one."""
    if path.startswith("s3://"):
        return spark_uri(path)
    file = Path(local_path(path))
    if not file.is_file():
        return path
    name = "".join(f"\\{mark}" if mark in "{}[]*?,\\" else mark for mark in file.name)
    return f"{file.absolute().parent}/{{{name}}}"


def _is_nanos(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.unit == "ns"


def _as(rows: DataFrame, column: Column) -> str:
    """A column in the type the table gives it, as Spark SQL."""
    name = value = quoted(column.name)
    if rows.schema[column.name].metadata.get(NANOS):
        value = f"timestamp_micros(({value} - pmod({value}, 1000)) div 1000)"
    if column.type is not None:
        value = f"CAST({value} AS {column.type})"
    return f"{value} AS {name}"
