"""JSON and CSV inputs: columns in the declared types, and one more for the rows that do not fit them.

Spark reads in its permissive mode: a row that cannot be read keeps its text in the column `CORRUPT`. The
slicer takes the rows without it, the query of the rejects those with it, so that none is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql.types import DataType, StringType, StructField, StructType

from dovetail.errors import InputError
from dovetail.plan.physical import FilesSource, InputTable

CORRUPT = "_corrupt_record"


def stream_schema(
    files: Sequence[str], table: InputTable, source: FilesSource
) -> tuple[StructType, dict[str, str]]:
    """How Spark is to read the files, and with which options."""
    options = {**dict(source.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    types = {column.name: column.type or "string" for column in table.columns}
    if source.format == "csv":
        options.setdefault("header", "true")
        if options["header"].lower() == "true" and files:  # elsewhere the table's columns are the files'
            options.setdefault("enforceSchema", "false")
            types = {name: types.get(name, "string") for name in _csv_header(files, options, table)}
    schema = StructType()
    for name, declared in types.items():
        schema.add(name, DataType.fromDDL(declared))
    schema.add(StructField(CORRUPT, StringType()))
    return schema, options


def _csv_header(files: Sequence[str], options: Mapping[str, str], table: InputTable) -> list[str]:
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
