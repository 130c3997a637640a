"""How a segment's payload was compressed, as its commit remembers it: enough to see a category drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.model import json_values as said


@dataclass(frozen=True)
class Packing:
    """`raw_bytes` as a plain segment would hold them; `dictionary` is None if it was done without one."""

    raw_bytes: int
    stored_bytes: int
    dictionary: str | None

    @property
    def ratio(self) -> float:
        return self.raw_bytes / max(1, self.stored_bytes)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Packing | None:
        if value is None:
            return None
        named = value["dictionary"]
        return cls(
            raw_bytes=said.whole(value["raw_bytes"]),
            stored_bytes=said.whole(value["stored_bytes"]),
            dictionary=None if named is None else said.file_name(named),
        )
