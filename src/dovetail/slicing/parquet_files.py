"""Parquet inputs: what their footers say, and that all files of an input go together.

Spark fails on a file of other types in the middle of a query, with a puzzling error. So we look at footers
before Spark reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import InputError
from dovetail.slicing.file_form import FilePiece
from dovetail.slicing.input_files import local_path


def check_files(
    files: Iterable[str], names: Sequence[str], known: pa.Schema | None = None, *, grows: bool = False
) -> pa.Schema:
    """Parquet files must have a footer and some of the named columns, in the types that are known of them or
    in narrower ones: a column that a file lacks is null there, and a narrower number becomes wider.

    Returns what is known now. `grows`: a wider type than the known one takes its place."""
    types = {field.name: field.type for field in known or ()}
    for file in files:
        schema = parquet_schema(file)
        there = [name for name in names if name in schema.names]
        if not there and names:
            raise _lacks(file, names, schema)
        for name in there:
            found = schema.field(name).type
            if name not in types or (grows and widens(types[name], found)):
                types[name] = found
            elif not widens(found, types[name]):
                raise InputError(
                    f"the file has another type for column {name}: {found}",
                    where=file,
                    expected=str(types[name]),
                    hint="rewrite it with the type that the others have, or keep it in another directory",
                )
    return pa.schema(types)


def common_schema(files: Sequence[str], names: Sequence[str]) -> pa.Schema:
    """The named columns as all files together have them. One that no file has is an error."""
    found = check_files(files, names, grows=True)
    missing = [name for name in names if name not in found.names]
    if missing:
        raise _lacks(files[0], missing, parquet_schema(files[0]))
    return found


def whole_schema(files: Iterable[str]) -> pa.Schema:
    """Every column that one of the files has, in the widest type that one of them gives it. Files that do not
    fit are for `common_schema` to refuse, once it is known which columns are read."""
    types: dict[str, pa.DataType] = {}
    for file in files:
        for field in parquet_schema(file):
            if field.name not in types or widens(types[field.name], field.type):
                types[field.name] = field.type
    return pa.schema(types)


def widens(read: pa.DataType, kept: pa.DataType) -> bool:
    """Whether a number of one type becomes one of another without changing."""
    if read.equals(kept):
        return True
    if pa.types.is_floating(read) and pa.types.is_floating(kept):
        return bool(read.bit_width <= kept.bit_width)
    both_signed = pa.types.is_signed_integer(read) and pa.types.is_signed_integer(kept)
    return bool(both_signed and read.bit_width <= kept.bit_width)


def _lacks(file: str, missing: Sequence[str], schema: pa.Schema) -> InputError:
    return InputError(
        f"the file lacks column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
        where=file,
        expected=f"columns {', '.join(missing)}",
        hint=f"it has {', '.join(schema.names)}; remove the file or correct the table's columns",
    )


def parquet_schema(file: str) -> pa.Schema:
    path = local_path(file)
    with _readable(path, "the file is not a whole Parquet file"):
        schema = pq.read_schema(path)
    return schema


def row_groups(files: Sequence[str]) -> list[FilePiece]:
    found = []
    for path in map(local_path, files):
        with _readable(path, "the file is not a whole Parquet file"):
            metadata = pq.read_metadata(path)
        sizes = (metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
        found += [FilePiece(path, number, rows) for number, rows in enumerate(sizes)]
    return found


def read_row_group(path: str, number: int, columns: list[str]) -> pa.Table:
    """The named columns; those that the file lacks are null."""
    with _readable(path, "the file cannot be read"):
        file = pq.ParquetFile(path)
        rows = file.read_row_group(number, columns=columns, use_threads=False)
        count = file.metadata.row_group(number).num_rows
    for name in columns:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(count))
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
