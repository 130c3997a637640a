"""Records as rows of a category; those that cannot be read, aside with the reason.

Law: each record is in exactly one of the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from dovetail.kafka.formats import Format
from dovetail.kafka.records import Records

_REASON_CHARACTERS = 300


class Reject(NamedTuple):
    """A record that is no row."""

    reason: str
    partition: int
    offset: int
    raw: bytes | None


@dataclass(frozen=True)
class Decoder:
    """`fields`: the column of a part of the record beside its value, by part. `schema`: the columns of a row,
    those that the format makes and those."""

    schema: pa.Schema
    format: Format
    fields: Mapping[str, str]

    def ready(self, records: Records) -> None:
        """Raises Unreachable while somebody is away who has to be asked about these records."""
        self.format.ready(records.values)

    def rows(self, records: Records) -> tuple[list[pa.Table], list[Reject]]:
        tables: list[pa.Table] = []
        rejects: list[Reject] = []
        for found in self._halved(records):
            if isinstance(found, Reject):
                rejects.append(found)
            else:
                tables.append(found)
        return tables, rejects

    def _halved(self, records: Records) -> Iterator[pa.Table | Reject]:
        """One that is to blame is found in as many tries as its records can be halved."""
        if not len(records):
            return
        try:
            yield self._table(records)
        except (pa.ArrowInvalid, UnicodeDecodeError, OverflowError) as error:
            if len(records) == 1:
                reason = str(error).splitlines()[0][:_REASON_CHARACTERS]
                raw = records.values[0].as_py()
                yield Reject(reason, int(records.partitions[0]), int(records.offsets[0]), raw)
                return
            half = len(records) // 2
            yield from self._halved(records.cut(0, half))
            yield from self._halved(records.cut(half, len(records)))

    def _table(self, records: Records) -> pa.Table:
        made = dict(_named(self.format.rows(records.values)))
        for part, name in self.fields.items():
            made[name] = pa.chunked_array([_part(records, part, self.schema.field(name).type)])
        table = pa.table([made[field.name] for field in self.schema], schema=self.schema)
        table.validate(full=True)  # parsers do not look whether text is UTF-8
        return table


def _named(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    return zip(table.column_names, table.columns, strict=True)


def _part(records: Records, part: str, kind: pa.DataType) -> pa.Array:
    match part:
        case "key":
            return _asked(records.keys).cast(kind)
        case "headers":
            return _asked(records.headers).cast(kind)
        case "partition":
            return pa.array(records.partitions).cast(kind)
        case "offset":
            return pa.array(records.offsets).cast(kind)
    return _asked(records.timestamps).cast(pa.timestamp("ms", "UTC")).cast(kind)


def _asked(part: pa.Array | None) -> pa.Array:
    assert part is not None, "the reader was asked for this part"
    return part
