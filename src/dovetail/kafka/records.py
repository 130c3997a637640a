"""Records of a topic, as columns: parallel lists, one element for each record.

The client makes an object of each record; `gathered` asks all of them for one part after the other, without
a line of Python for each record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any


@dataclass(frozen=True)
class Records:
    """`keys`, `headers` and `timestamps` (of the client: a kind, and milliseconds) are empty where nobody
    asks for them."""

    values: list[bytes | None] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    headers: list[list[tuple[str, bytes]] | None] = field(default_factory=list)
    timestamps: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, start: int, stop: int) -> Records:
        return Records(*(getattr(self, part.name)[start:stop] for part in fields(self)))

    @property
    def bytes(self) -> int:
        return sum(map(len, filter(None, self.values)))


def gathered(messages: Sequence[Any], message: Any, wanted: Sequence[str]) -> Records:
    """`message`: the class of the client's records. `wanted`: which of key, headers and timestamp."""

    def part(ask: Any) -> list[Any]:
        return list(map(ask, messages))

    return Records(
        part(message.value),
        part(message.partition),
        part(message.offset),
        part(message.key) if "key" in wanted else [],
        part(message.headers) if "headers" in wanted else [],
        part(message.timestamp) if "timestamp" in wanted else [],
    )


def joined(pieces: Sequence[Records]) -> Records:
    if len(pieces) == 1:
        return pieces[0]
    parts = ([getattr(piece, part.name) for piece in pieces] for part in fields(Records))
    return Records(*(list(chain.from_iterable(part)) for part in parts))
