"""A schema of Avro as the fields of its records, in the order in which they are written.

    {"id": long, "tags": [string], "at": null or {"x": int}}

    0  WHOLE id
    1  ARRAY  up to 4        a block of items after the other
    2    TEXT                passed over: no column is an array
    3  NEXT   back to 1
    4  UNION  of 2           and how to go on after each of its branches
    5    JUMP to 7
    6    JUMP to 8
    7    JUMP to 9           the branch of null
    8  WHOLE at.x            a record may be missing: then its columns are null
    9

Avro does not say how long a value is. So whoever wants one field has to read all that stand before it,
whatever they are. What is only passed over has no name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from dovetail.connectors.flat_field import UNNAMED, FlatField, UnreadableSchema
from dovetail.connectors.kernels import binary_rows as kernels

MOST_FIELDS = 10_000
_WIDEST_DECIMAL = 38
_PLAIN: dict[str, tuple[int, pa.DataType | None]] = {
    "null": (kernels.NOTHING, None),
    "boolean": (kernels.TRUTH, pa.bool_()),
    "int": (kernels.WHOLE, pa.int32()),
    "long": (kernels.WHOLE, pa.int64()),
    "float": (kernels.REAL32, pa.float32()),
    "double": (kernels.REAL64, pa.float64()),
    "bytes": (kernels.TEXT, pa.binary()),
    "string": (kernels.TEXT, pa.string()),
}
_LOGICAL = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
}


def avro_fields(text: str, others: Iterable[str] = ()) -> list[FlatField]:
    """`others`: schemas whose types this one names."""
    reading = _Reading()
    for other in others:
        _Reading(reading.known).value(UNNAMED, json.loads(other), "")
    schema = json.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise UnreadableSchema("it is not a record")
    reading.record("", schema, "")
    return reading.made


class _Reading:
    def __init__(self, known: dict[str, tuple[Any, str]] | None = None) -> None:
        self.made: list[FlatField] = []
        self.known = {} if known is None else known  # by full name, with the namespace that it is in
        self._within: list[str] = []
        self._arrays = 0

    def value(self, name: str, kind: Any, space: str) -> None:
        """`name`: the column that this may be. `space`: the namespace of names without one."""
        if isinstance(kind, list):
            self._union(name, kind, space)
            return
        described, space = self._described(kind, space)
        match described["type"]:
            case "record" | "error":
                self.record(f"{name}." if name else None, described, space)
            case "array":
                self._repeated(name, described["items"], space)
            case "map":
                self._repeated(name, described["values"], space, kernels.TEXT)
            case _:
                self._make(self._plain(name, described, space))

    def record(self, prefix: str | None, described: Any, space: str) -> None:
        """`prefix`: before the names of its fields; None where they have none."""
        full, space = self._define(described, space)
        if full in self._within:
            raise UnreadableSchema(f"a record {full} is within another one of its kind")
        self._within.append(full)
        for field in described["fields"]:
            self.value(UNNAMED if prefix is None else prefix + field["name"], field["type"], space)
        self._within.pop()

    def _make(self, field: FlatField) -> int:
        if len(self.made) == MOST_FIELDS:
            raise UnreadableSchema(f"it has more than {MOST_FIELDS:,} fields")
        self.made.append(field)
        return len(self.made) - 1

    def _aim(self, place: int) -> None:
        """A jump goes to what comes next."""
        self.made[place] = self.made[place]._replace(number=len(self.made))

    def _repeated(self, name: str, items: Any, space: str, key: int | None = None) -> None:
        if self._arrays == kernels.MOST_NESTED:
            raise UnreadableSchema(f"arrays are in each other more than {kernels.MOST_NESTED} deep")
        self._arrays += 1
        head = self._make(FlatField(name, kernels.ARRAY, None))
        if key is not None:
            self._make(FlatField(UNNAMED, key, None))
        self.value(UNNAMED, items, space)
        self._make(FlatField(UNNAMED, kernels.NEXT, None, head))
        self._aim(head)
        self._arrays -= 1

    def _union(self, name: str, branches: list[Any], space: str) -> None:
        """A plain value that may be null is one field. Of several types none can be a column."""
        others = [one for one in branches if one not in ("null", {"type": "null"})]
        if len(branches) == 2 and len(others) == 1:
            described, inner = self._described(others[0], space)
            if described["type"] not in ("record", "error", "array", "map"):
                union = kernels.NULL_LAST if branches[0] == others[0] else kernels.NULL_FIRST
                self._make(self._plain(name, described, inner)._replace(union=union))
                return
        one_type = len(others) == 1
        self._make(FlatField(UNNAMED if one_type else name, kernels.UNION, None, len(branches)))
        jumps = [self._make(FlatField(UNNAMED, kernels.JUMP, None)) for _ in branches]
        ends = []
        for branch, jump in zip(branches, jumps, strict=True):
            self._aim(jump)
            self.value(name if one_type else UNNAMED, branch, space)
            ends.append(self._make(FlatField(UNNAMED, kernels.JUMP, None)))
        for end in ends:
            self._aim(end)

    def _plain(self, name: str, described: Any, space: str) -> FlatField:
        kind, logical = described["type"], described.get("logicalType")
        if kind == "enum":
            self._define(described, space)
            return FlatField(name, kernels.WHOLE, pa.string(), symbols=tuple(described["symbols"]))
        if kind == "fixed":
            self._define(described, space)
            return FlatField(name, kernels.FIXED, _bytes(described), described["size"])
        way, arrow = _PLAIN[kind]
        if kind == "bytes":
            arrow = _bytes(described)
        elif kind in ("int", "long"):
            arrow = _LOGICAL.get(str(logical), arrow)
        return FlatField(name, way, arrow)

    def _described(self, kind: Any, space: str) -> tuple[Any, str]:
        """A type as an object, and the namespace around it."""
        while isinstance(kind, dict) and isinstance(kind["type"], dict):
            kind = kind["type"]
        if isinstance(kind, dict) and kind["type"] in (*_PLAIN, *_BUILT):
            return kind, space
        name = kind["type"] if isinstance(kind, dict) else kind
        if name in _PLAIN:
            return {"type": name}, space
        for full in (f"{space}.{name}", name):
            if full in self.known:
                return self.known[full]
        raise UnreadableSchema(f"there is no type {name}")

    def _define(self, described: Any, space: str) -> tuple[str, str]:
        """The full name of a type that has one, and its namespace."""
        around, dot, _ = described["name"].rpartition(".")
        space = around if dot else described.get("namespace", space)
        full = described["name"] if dot or not space else f"{space}.{described['name']}"
        self.known[full] = described, space
        return full, space


_BUILT = ("record", "error", "enum", "fixed", "array", "map")


def _bytes(described: Any) -> pa.DataType | None:
    """What bytes mean. A logical type that nobody knows means nothing, by Avro's rules."""
    if described.get("logicalType") != "decimal":
        return pa.binary()
    precision = described.get("precision", 0)
    return pa.decimal128(precision, described.get("scale", 0)) if 0 < precision <= _WIDEST_DECIMAL else None
