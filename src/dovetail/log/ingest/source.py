"""What appending needs from a file: its schema, and its rows in the category's schema."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyarrow import fs, types

from dovetail.errors import InputError
from dovetail.log.ingest.text import TIMESTAMP
from dovetail.log.schema import log_schema, plain_type

Progress = Callable[[int], None]
"""Called with the number of bytes of the file that are done."""

Reject = Callable[[str, str], None]
"""Called with the raw text of a row that cannot be read, and the reason."""

_AS_IN_SPARK = {
    pa.null(): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
}


class Source(Protocol):
    """One file. Both methods raise InputError for a file that is not what its format says."""

    def infer(self) -> pa.Schema:
        """The schema that the file would give a new category."""

    def read(self, schema: pa.Schema, reject: Reject, progress: Progress) -> Iterator[pa.RecordBatch]:
        """The rows that fit, in the order of the file, in batches that `fit` takes into `schema`."""


@dataclass(frozen=True)
class InputFile:
    """A file by local path or URI."""

    path: str
    bytes: int

    @contextlib.contextmanager
    def open(self) -> Iterator[pa.NativeFile]:
        """The file's bytes, as they are stored."""
        filesystem, path = locate(self.path)
        with self.trouble("file"), filesystem.open_input_file(path) as file:
            yield file

    @contextlib.contextmanager
    def open_text(self) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
        """The file's bytes, decompressed if its name says so; and the file below, to see how far we are."""
        with self.open() as file:
            codec = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(
                os.path.splitext(self.path)[1]
            )
            yield (pa.CompressedInputStream(file, codec) if codec else file), file

    @contextlib.contextmanager
    def trouble(self, kind: str) -> Iterator[None]:
        """What Arrow and the system say of an unreadable file, as an InputError."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"the file cannot be read: {error}",
                where=self.path,
                expected=f"a whole, readable {kind}",
                hint="nothing of this file was committed: write the file again, or leave it out",
            ) from error


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """The filesystem of a path or URI, and the path there."""
    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path))
    try:
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"the address cannot be opened: {error}", where=path) from error


def category_schema(schema: pa.Schema, *, where: str) -> pa.Schema:
    """The schema of a category for rows of `schema`: every column may be null, types are those of Spark."""
    plain = log_schema(schema, where=where)
    return pa.schema([pa.field(field.name, _spark_type(field.type)) for field in plain])


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if types.is_timestamp(kind):
        return TIMESTAMP
    if types.is_struct(kind):
        return pa.struct([pa.field(f.name, _spark_type(f.type), nullable=f.nullable) for f in kind])
    if types.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_type(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", _spark_type(kind.value_type), nullable=kind.value_field.nullable))
    return _AS_IN_SPARK.get(plain_type(kind), kind)
