"""`FROM PARQUET("path")`: Parquet files in a folder, or one file. Folders `day=2026-11-17` are a column."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.lookup_table import EVERY_TABLE, missing
from dovetail.connectors.options import Option
from dovetail.connectors.remote_files import is_away
from dovetail.connectors.secret import Revealed
from dovetail.errors import DovetailError, InputError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_HIDDEN = ("_", ".")


@dataclass(frozen=True)
class ParquetTableKind:
    name: str = "PARQUET"
    options: tuple[Option, ...] = (
        Option("path", "text", "A folder of files, or one file, here or on S3.", required=True),
        *EVERY_TABLE,
    )

    def validate(self, options: dict[str, Any]) -> None:
        """Any combination will do."""

    def place(self, options: dict[str, Any]) -> str:
        return f"Parquet files {options['path']}"

    def open(self, given: Revealed) -> ParquetTable:
        path = given.values["path"]
        return ParquetTable(path if "://" in path else os.path.abspath(path))


@dataclass(frozen=True)
class ParquetTable:
    path: str

    @property
    def place(self) -> str:
        return f"Parquet files {self.path}"

    def version(self) -> str:
        """A digest of which files there are, how large, and since when."""
        with self._words():
            return _digest(self._files()[1])

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]:
        from pyarrow import dataset

        with self._words():
            filesystem, files, folder = self._files()
        with self._words(_digest(files)):
            found = dataset.dataset(
                [one.path for one in files],
                format="parquet",
                filesystem=filesystem,
                partitioning=dataset.HivePartitioning.discover(infer_dictionary=False),
                partition_base_dir=folder,
            )
            found = found.replace_schema(_whole_schema(found))
            if (error := missing(self.place, columns, found.schema.names)) is not None:
                raise error
            yield from found.to_batches(columns=list(columns))

    @contextmanager
    def _words(self, version: str | None = None) -> Iterator[None]:
        """What the library says, as our errors. `version`: of the files that are being read."""
        from pyarrow import ArrowException

        try:
            yield
        except DovetailError:
            raise
        except (OSError, ArrowException) as error:
            text = " ".join(str(error).split())[:300]
            if is_away(error):
                raise Unreachable(f"{self.place} cannot be reached: {text}", where=self.path) from None
            if version is not None and self.version() != version:
                raise Unreachable(f"{self.place} changed while they were read", where=self.path) from None
            raise InputError(f"{self.place} cannot be read: {text}", where=self.path) from None

    def _files(self) -> tuple[Any, list[Any], str]:
        from pyarrow import fs

        filesystem, path = fs.FileSystem.from_uri(self.path if "://" in self.path else f"file://{self.path}")
        about = filesystem.get_file_info(path)
        files = [about]
        if about.type == fs.FileType.Directory:
            found = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
            files = [one for one in found if one.type == fs.FileType.File and not _hidden(one.path, path)]
        if about.type == fs.FileType.NotFound or not files:
            raise InputError(
                "there are no Parquet files", where=self.path, expected="the files of a lookup table"
            )
        return filesystem, files, path if about.type == fs.FileType.Directory else os.path.dirname(path)


def _digest(files: Sequence[Any]) -> str:
    known = [(one.path, one.size, one.mtime_ns) for one in files]
    return hashlib.sha256(repr(sorted(known)).encode()).hexdigest()[:16]


def _whole_schema(found: Any) -> pa.Schema:
    """The columns that one of the files has, in a type for the values of all. By itself a dataset has those
    of its first file."""
    import pyarrow as pa

    schemas = [found.schema, *(file.physical_schema for file in found.get_fragments())]
    return pa.unify_schemas(schemas, promote_options="permissive")


def _hidden(path: str, folder: str) -> bool:
    return any(part.startswith(_HIDDEN) for part in path[len(folder) :].strip("/").split("/"))
