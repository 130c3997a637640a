"""Law: a row keeps its types on the way from Spark to the log and back."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import DataType, StructType

from dovetail.errors import InputError


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark speaks for these columns, with times in UTC."""
    plain: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return pa.schema([pa.field(field.name, field.type, field.nullable) for field in plain])


def arrow_type(ddl: str) -> pa.DataType | None:
    """The Arrow type of a column that is declared so; None if it is none that Spark knows."""
    try:
        return arrow_schema(StructType().add("declared", DataType.fromDDL(ddl))).field(0).type
    except Exception:  # PySpark raises several kinds
        return None


def spark_schema(schema: pa.Schema, place: str) -> StructType:
    """The Spark schema of a category's columns."""
    try:
        return from_arrow_schema(schema)
    except Exception as error:  # PySpark raises several kinds
        raise InputError(
            f"a column has a type that Spark does not know: {error}",
            where=place,
            expected="types that Spark SQL has",
            hint="cast the column before it is appended",
        ) from error
