"""`FROM DELTA("path")`: the rows that are appended to a Delta table.

    _delta_log/00000000000000000007.json     one action a line: add, remove, metaData, txn, commitInfo

Each version's own file says which data files it added, and whether that is new data: OPTIMIZE adds files
with rows that were there before. So the files are read as the protocol has them; the library tells of the
table as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dovetail.connectors.extras import need
from dovetail.connectors.lake import EVERY_LAKE, About, Added, LakeFile
from dovetail.connectors.options import Option
from dovetail.connectors.remote_files import is_away
from dovetail.connectors.secret import Revealed
from dovetail.connectors.tables.delta import delta_words, open_delta
from dovetail.errors import InputError, Unreachable
from dovetail.model import json_values as said

if TYPE_CHECKING:
    import pyarrow as pa

_UNREADABLE = ("deletionVectors", "columnMapping")


@dataclass(frozen=True)
class DeltaLakeKind:
    name: str = "DELTA"
    first: str = "path"
    options: tuple[Option, ...] = (
        Option("path", "text", "The table's folder, here or on S3.", required=True),
        *EVERY_LAKE,
    )

    def validate(self, options: dict[str, Any]) -> None:
        """Any combination will do."""

    def place(self, options: dict[str, Any]) -> str:
        return f"Delta table {options['path']}"

    def open(self, given: Revealed) -> DeltaLake:
        need("delta", "deltalake", by="FROM DELTA")
        path = given.values["path"]
        return DeltaLake(path if "://" in path else os.path.abspath(path))


@dataclass(frozen=True)
class DeltaLake:
    path: str

    @property
    def place(self) -> str:
        return f"Delta table {self.path}"

    def about(self) -> About:
        import pyarrow as pa

        with delta_words(self.path):
            table = open_delta(self.path)
            protocol = table.protocol()
            features = [one for one in _UNREADABLE if one in (protocol.reader_features or ())]
            mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
            if "columnMapping" in features and not mapped:
                features.remove("columnMapping")
            if "deletionVectors" in features:  # allowed is not used: a file with one says so
                features.remove("deletionVectors")
            if features:
                raise InputError(
                    f"{self.place} uses {', '.join(features)}, which this reader does not know",
                    where=self.path,
                    hint="write a copy of the table without it",
                )
            return About(str(table.metadata().id), int(table.version()), pa.schema(table.schema().to_arrow()))

    def whole(self, version: int) -> list[LakeFile]:
        import pyarrow as pa

        with delta_words(self.path):
            table = open_delta(self.path, version)
            actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
            allowed = "deletionVectors" in (table.protocol().reader_features or ())
        if allowed:
            self._require_no_deletion_vectors(version)
        files = [
            LakeFile(unquote(str(one["path"])), int(one["size_bytes"]), _texts(one.get("partition")))
            for one in actions
        ]
        return sorted(files, key=lambda file: file.path)

    def changes(self, after: int | None) -> list[Added]:
        newest = self.about().version
        assert newest is not None, "a Delta table has a version"
        return [self.added(version) for version in range(0 if after is None else after + 1, newest + 1)]

    def before(self, version: int) -> int | None:
        newest = self.about().version
        if newest is not None and version > newest:
            raise InputError(
                f"{self.place} has no version {version}", where=self.path, expected=f"one up to {newest}"
            )
        return version - 1 if version else None

    def _require_no_deletion_vectors(self, version: int) -> None:
        """The library lists a file without the rows of it that are deleted. A reader of the whole table
        looks for that in every version's own file."""
        for one in range(version + 1):
            if any(action["add"].get("deletionVector") for action in self._actions(one) if "add" in action):
                raise InputError(
                    f"version {one} of {self.place} deletes rows of a file that it keeps (deletion vectors)",
                    where=self.path,
                    expected="files whose rows are all in the table",
                    hint='write a purged copy of the table, or begin with start = "latest"',
                )

    def added(self, version: int) -> Added:
        actions = self._actions(version)
        try:
            return self._added(version, actions)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unreadable(version, error) from None

    def _actions(self, version: int) -> list[dict[str, Any]]:
        name = f"_delta_log/{version:020d}.json"
        try:
            text = self._text(name)
        except OSError as error:
            raise self._failed(error, name) from None
        if text is None:
            raise InputError(
                f"version {version} of {self.place} is gone from its log, and has not been read",
                where=self.path,
                hint="read the table under another name of the input table: it begins with all rows that it "
                "has",
            )
        try:
            return [said.fields(json.loads(line)) for line in text.splitlines() if line.strip()]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unreadable(version, error) from None

    def _text(self, name: str) -> bytes | None:
        from pyarrow import fs

        filesystem, folder = self._folder()
        if filesystem.get_file_info(f"{folder}/{name}").type == fs.FileType.NotFound:
            return None
        with filesystem.open_input_stream(f"{folder}/{name}") as stream:
            return bytes(stream.readall())

    def _failed(self, error: Exception, name: str) -> InputError | Unreachable:
        text = " ".join(str(error).split())[:300]
        if is_away(error):
            return Unreachable(f"the files of {self.place} cannot be reached: {text}", where=self.path)
        return InputError(f"a file of {self.place} cannot be read: {text}", where=f"{self.path}/{name}")

    def _unreadable(self, version: int, error: Exception) -> InputError:
        return InputError(
            f"version {version} of {self.place} cannot be read: {type(error).__name__}: {error}",
            where=f"{self.path}/_delta_log/{version:020d}.json",
            expected="a file of the table's log, as Delta's protocol has it",
        )

    def _added(self, version: int, actions: Sequence[dict[str, Any]]) -> Added:
        operation = next(
            (str(a["commitInfo"].get("operation", "")) for a in actions if "commitInfo" in a), ""
        )
        adds = [a["add"] for a in actions if "add" in a and a["add"].get("dataChange", True)]
        removes = [a["remove"] for a in actions if "remove" in a and a["remove"].get("dataChange", True)]
        if removes or any(one.get("deletionVector") for one in adds):
            return Added(version, "change", operation=operation)
        files = [
            LakeFile(unquote(one["path"]), int(one["size"]), dict(one.get("partitionValues") or {}))
            for one in adds
        ]
        return Added(version, "append", tuple(sorted(files, key=lambda file: file.path)), operation)

    def _folder(self) -> tuple[Any, str]:
        from pyarrow import fs

        place = self.path if "://" in self.path else f"file://{self.path}"
        filesystem, folder = fs.FileSystem.from_uri(place)
        return filesystem, str(folder)

    def read(self, file: LakeFile, columns: Sequence[str]) -> pa.Table:
        """Columns that the file does not have are not in the result; those of its partition are texts."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            filesystem, folder = self._folder()
            place = file.path if file.path.startswith(("/", folder)) else f"{folder}/{file.path}"
            with filesystem.open_input_file(place) as opened:
                stored = pq.ParquetFile(opened)
                names = [name for name in columns if name in stored.schema_arrow.names]
                rows = stored.read(columns=names)
        except FileNotFoundError:
            raise InputError(
                f"a file of {self.place} is gone before it was read: {file.path}",
                where=self.path,
                hint="was the table vacuumed? read it under another name of the input table",
            ) from None
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error, file.path) from None
        for name, value in file.what.items():
            if name in columns and name not in rows.schema.names:
                rows = rows.append_column(name, pa.repeat(pa.scalar(value, pa.string()), rows.num_rows))
        return rows


def _texts(values: dict[str, Any] | None) -> dict[str, str | None]:
    """Values of partitions, as the log writes them."""
    return {name: None if value is None else str(value) for name, value in (values or {}).items()}
