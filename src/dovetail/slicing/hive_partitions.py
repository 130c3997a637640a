"""Folders that say the values of columns, as Hive and Spark write them: `day=2026-01-01/part-0.parquet`.

A column of the table that is called like such a folder has the folder's value in all rows of its files.
Folders that no column is called after mean nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote

import pyarrow as pa

from dovetail.errors import InputError
from dovetail.slicing.input_files import local_path

NULL = "__HIVE_DEFAULT_PARTITION__"


def values_of(place: str, file: str) -> dict[str, str | None]:
    """The values that the folders of a file say, by column."""
    path, base = PurePosixPath(local_path(file)), PurePosixPath(local_path(place))
    inside = path.relative_to(base).parts[:-1] if path.is_relative_to(base) else ()
    pairs = (part.split("=", 1) for part in inside if "=" in part)
    return {unquote(name): None if value == NULL else unquote(value) for name, value in pairs}


def partition_types(place: str, files: Sequence[str], names: Collection[str] | None = None) -> dict[str, str]:
    """The columns that folders say, and a type that fits all values. `names`: those that are wanted."""
    said = [values_of(place, file) for file in files]
    found = dict.fromkeys(name for one in said for name in one)
    types: dict[str, str] = {}
    for name in found:
        if names is not None and name not in names:
            continue
        without = next((file for file, one in zip(files, said, strict=True) if name not in one), None)
        if without is not None:
            raise InputError(
                f"the file is in no folder {name}=..., and others are",
                where=without,
                expected=f"all files below folders {name}=...",
                hint="move the file, or read the folders as two input tables",
            )
        types[name] = _type_of([one[name] for one in said])
    return types


def _type_of(values: Sequence[str | None]) -> str:
    known = [value for value in values if value is not None]
    for kind, read in (("bigint", int), ("date", datetime.date.fromisoformat)):
        try:
            if known and all(str(read(value)) == value for value in known):
                return kind
        except ValueError:
            pass
    return "string"


def with_partitions(rows: pa.Table, place: str, file: str, names: Collection[str]) -> pa.Table:
    """The rows of a file with the named columns that its folders say, as text."""
    for name, value in values_of(place, file).items():
        if name in names:
            column = pa.repeat(pa.scalar(value, pa.string()), rows.num_rows)
            rows = rows.drop_columns([name]) if name in rows.column_names else rows
            rows = rows.append_column(name, column)
    return rows
