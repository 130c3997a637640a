"""`FROM DELTA("path")`: a Delta table as of one of its versions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.extras import need
from dovetail.connectors.lookup_table import EVERY_TABLE, missing
from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed
from dovetail.errors import DovetailError, InputError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DeltaTableKind:
    name: str = "DELTA"
    options: tuple[Option, ...] = (
        Option("path", "text", "The table's folder, here or on S3.", required=True),
        *EVERY_TABLE,
    )

    def validate(self, options: dict[str, Any]) -> None:
        """Any combination will do."""

    def place(self, options: dict[str, Any]) -> str:
        return f"Delta table {options['path']}"

    def open(self, given: Revealed) -> LookedUpDelta:
        need("delta", "deltalake", by="FROM DELTA")
        path = given.values["path"]
        return LookedUpDelta(path if "://" in path else os.path.abspath(path))


@dataclass(frozen=True)
class LookedUpDelta:
    path: str

    @property
    def place(self) -> str:
        return f"Delta table {self.path}"

    def version(self) -> str:
        with self._words():
            return str(open_delta(self.path).version())

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]:
        with self._words():
            table = open_delta(self.path, None if version is None else int(version))
            found = table.to_pyarrow_dataset()
            if (error := missing(self.place, columns, found.schema.names)) is not None:
                raise error
            yield from found.to_batches(columns=list(columns))

    @contextmanager
    def _words(self) -> Iterator[None]:
        with delta_words(self.path):
            yield


def open_delta(path: str, version: int | None = None) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(path, version=version)


@contextmanager
def delta_words(path: str) -> Iterator[None]:
    """What the library says, as our errors."""
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        yield
    except DovetailError:
        raise
    except TableNotFoundError:
        raise InputError(
            "there is no Delta table", where=path, expected="a folder with a _delta_log"
        ) from None
    except (DeltaError, OSError) as error:
        text = " ".join(str(error).split())[:300]
        if isinstance(error, OSError) and "://" in path:
            raise Unreachable(f"Delta table {path} cannot be reached: {text}", where=path) from None
        raise InputError(f"Delta table {path} cannot be read: {text}", where=path) from None
