"""Folders that name the values of columns, as Hive and Spark write them: `day=2026-01-01/part-0.parquet`.

A column of the table with the name of such a folder has the folder's value in all rows of its files. Folders
without a column of their name are ignored.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath
from urllib.parse import unquote

import pyarrow as pa

from dovetail.slicing.input_files import local_path

NULL = "__HIVE_DEFAULT_PARTITION__"


def values_of(place: str, file: str) -> dict[str, str | None]:
    """The values that the folders of a file say, by column."""
    path, base = PurePosixPath(local_path(file)), PurePosixPath(local_path(place))
    inside = path.relative_to(base).parts[:-1] if path.is_relative_to(base) else ()
    pairs = (part.split("=", 1) for part in inside if "=" in part)
    return {unquote(name): None if value == NULL else unquote(value) for name, value in pairs}


def with_partitions(rows: pa.Table, place: str, file: str, names: Collection[str]) -> pa.Table:
    """The rows of a file with the named columns that its folders say, as text."""
    for name, value in values_of(place, file).items():
        if name in names:
            column = pa.repeat(pa.scalar(value, pa.string()), rows.num_rows)
            rows = rows.drop_columns([name]) if name in rows.column_names else rows
            rows = rows.append_column(name, column)
    return rows
