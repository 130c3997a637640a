"""What a category is: its name, schema, buckets and identity, as `category.json` keeps them.

Law: a definition never changes. It is written once, whole, by the first writer; the identity is new
whenever a category is made, even under an old name, so that nothing of the old one is taken for the new. Its
schema is the first one: later ones are in files of their own (`generations.py`).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from dovetail.errors import CorruptFile, InputError
from dovetail.kernels.grouping import MAX_BUCKETS
from dovetail.log import document
from dovetail.log.limits import ROLES, Role
from dovetail.log.schema import describe, log_schema, takes
from dovetail.model import json_values as said
from dovetail.model.compression import COMPRESSIONS, Compression

KIND, VERSION = "dovetail.category", 1

_NAME = re.compile(r"\w[\w.\-]*")
_REMEDY = "restore the file from a copy; the rows of the category are not touched by this"


@dataclass(frozen=True)
class Definition:
    """`time_column` is where the event times of rows that people append come from, if anywhere;
    `compression` is what writers do with payload; `role` decides how long rows stay, and older releases did
    not write it. `generation`: which of the category's schemas this is; None for columns that somebody wants
    to read. `left_out`: earlier ones that had no rows, and that it does not follow."""

    name: str
    id: str
    schema: pa.Schema
    buckets: int
    time_column: str | None
    compression: Compression = "auto"
    role: Role | None = "input"
    generation: int | None = 0
    left_out: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.buckets <= MAX_BUCKETS:
            raise InputError(f"a category cannot have {self.buckets} buckets", expected=f"1 to {MAX_BUCKETS}")
        if self.compression not in COMPRESSIONS:
            raise InputError(
                f"a category's compression cannot be {self.compression!r}", expected=", ".join(COMPRESSIONS)
            )
        if self.role not in (None, *ROLES):
            raise InputError(f"a category's role cannot be {self.role!r}", expected=", ".join(ROLES))
        if self.time_column is not None and self.time_column not in self.schema.names:
            raise InputError(
                f"there is no column {self.time_column} to take event times from",
                where=f"category {self.name}",
                expected=f"one of the columns {', '.join(self.schema.names)}",
            )

    def __str__(self) -> str:
        timed = f", event time in {self.time_column}" if self.time_column else ""
        return (
            f"{self.buckets} buckets{timed}, compression {self.compression}, columns {describe(self.schema)}"
        )

    @cached_property
    def fingerprint(self) -> str:
        """Equal where the schema is."""
        return document.checksum(self.schema.serialize().to_pybytes())

    def serves(self, wanted: Definition) -> bool:
        """A writer that wants `wanted` may write here."""
        return (
            takes(self.schema, wanted.schema)
            and self.buckets == wanted.buckets
            and wanted.time_column in (None, self.time_column)
            and wanted.compression in ("auto", self.compression)
        )


def folder_of(name: str) -> str:
    """The folder of a category, below its home."""
    if not _NAME.fullmatch(name) or len(name.encode()) > 200:
        raise InputError(
            f"{name!r} cannot be the name of a category",
            expected="up to 200 letters, digits, _ . and -, not starting with . or -",
        )
    return f"log/{name}"


def encode(definition: Definition) -> bytes:
    body = {
        "name": definition.name,
        "id": definition.id,
        "buckets": definition.buckets,
        "time_column": definition.time_column,
        "compression": definition.compression,
        "role": definition.role,
        "columns": describe(definition.schema),
        "schema": base64.b64encode(definition.schema.serialize()).decode(),
    }
    return document.encode(KIND, VERSION, body)


def decode(data: bytes, name: str, *, where: str) -> Definition:
    """The definition of category `name` in a file's bytes, checked."""
    body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(body["schema"])))
        compression = body.get("compression", "auto")
        time_column = body["time_column"]
        found = Definition(
            said.text(body["name"]),
            said.text(body["id"]),
            log_schema(schema, where=where),
            said.whole(body["buckets"]),
            None if time_column is None else said.text(time_column),
            said.text(compression),  # type: ignore[arg-type]
            body.get("role"),
        )
        if not schema.equals(found.schema, check_metadata=True):
            raise ValueError("a log has no such columns")
    except (pa.ArrowException, InputError, OSError, KeyError, ValueError, TypeError) as error:
        raise CorruptFile(f"the file defines no category: {error}", where=where, hint=_REMEDY) from error
    if found.name != name:
        raise CorruptFile(f"the file is that of category {found.name}", where=where, hint=_REMEDY)
    return found
