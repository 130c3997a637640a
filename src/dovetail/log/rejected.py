"""Rows that could not be read, kept aside: a file of JSON lines `{"reason": ..., "raw": ...}`.

Law: a row is either in a segment or in such a file, and a commit names and checks both alike.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.log.commit import RejectedRows
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

_SAMPLE_CHARACTERS = 200
_REMEDY = "restore the file from a copy; the rows of the category are not touched by this"


def write_rejected(
    category: Category, raws: Sequence[str] | pa.Array, reason: str | Sequence[str]
) -> RejectedRows:
    texts = raws.to_pylist() if isinstance(raws, (pa.Array, pa.ChunkedArray)) else list(raws)
    reasons = [reason] * len(texts) if isinstance(reason, str) else list(reason)
    pairs = zip(reasons, texts, strict=True)
    data = "".join(json.dumps({"reason": why, "raw": raw}) + "\n" for why, raw in pairs).encode()
    name = f"{uuid.uuid4().hex}.jsonl"
    category.store.replace(f"{category.folder}/rejected/{name}", data)
    sample = f"{reasons[0]}: {texts[0]}"[:_SAMPLE_CHARACTERS] if texts else ""
    # A raw text may hold half a surrogate pair, which a commit (UTF-8) cannot.
    sample = sample.encode(errors="backslashreplace").decode()
    return RejectedRows(name, len(texts), len(data), document.checksum(data), sample)


def read_rejected(category: Category, rejected: RejectedRows) -> list[dict[str, str]]:
    where = f"{category.where}/{rejected.path}"
    try:
        data = category.read_named(rejected)
    except FileNotFoundError:
        data = None
    if data is None or document.checksum(data) != rejected.checksum:
        raise CorruptFile(
            f"the file of rejected rows is {'missing' if data is None else 'corrupt'}",
            where=where,
            expected=f"{rejected.rows} rows, {rejected.bytes} bytes, checksum {rejected.checksum}",
            hint=_REMEDY,
        )
    try:
        found = [said.fields(json.loads(line), ("reason", "raw")) for line in data.decode().splitlines()]
        if len(found) != rejected.rows:
            raise ValueError(f"{len(found)} rows")
    except ValueError as error:
        raise CorruptFile(
            f"the file does not hold rejected rows: {error}",
            where=where,
            expected=f"{rejected.rows} lines of JSON, each with a reason and a raw text",
            hint=_REMEDY,
        ) from error
    return found
