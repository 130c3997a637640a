"""Parquet inputs: what their footers say, and that all files of an input say the same.

Spark reads a file with another schema as nulls, or fails in the middle with a puzzling error. So we look at
footers before Spark reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import InputError
from dovetail.slicing.input_files import local_path

RowGroup = tuple[str, int, int]
"""A file, the number of a row group in it, and its rows."""


def check_files(
    files: Iterable[str], names: Sequence[str], first: pa.Schema | None = None
) -> pa.Schema | None:
    """Parquet files must have a footer, the named columns, and the types of the first file."""
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


def row_groups(files: Sequence[str]) -> list[RowGroup]:
    found = []
    for path in map(local_path, files):
        with _readable(path, "the file is not a whole Parquet file"):
            metadata = pq.read_metadata(path)
        sizes = (metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
        found += [(path, number, rows) for number, rows in enumerate(sizes)]
    return found


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
