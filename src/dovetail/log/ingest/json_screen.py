"""One JSON line looked at alone: for the lines of a block that did not parse in bulk, and only for those.

Law: a line that is turned away here would not have parsed either; a line that passes may still be turned away
by the parser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
from pyarrow import types

Kinds = dict[str, str | range]
"""By column: what kind of JSON value it holds; whole numbers by their range."""

_KIND_OF = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def wanted_kinds(schema: pa.Schema) -> Kinds:
    """The kinds of the columns of a category, as far as they are certain."""
    kinds: Kinds = {}
    for field in schema:
        if types.is_integer(field.type):
            bits = field.type.bit_width - types.is_signed_integer(field.type)
            kinds[field.name] = range(-(2**bits) if types.is_signed_integer(field.type) else 0, 2**bits)
        elif kind := _kind(field.type):
            kinds[field.name] = kind
    return kinds


def inferred_kinds(found: Mapping[str, pa.DataType]) -> Kinds:
    """The kinds of the columns seen so far; those of others are learned from the first line that has them."""
    return {name: kind for name, known in found.items() if (kind := _kind(known))}


def screen(line: bytes, kinds: Kinds) -> str | None:
    """Why the line cannot be a row of such columns, or None. Adds the kinds of columns that are new."""
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return f"the line is not UTF-8: {error.reason}"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(row, dict):
        return f"expected an object, found {_KIND_OF.get(type(row), 'null')}"
    for name, value in row.items():
        if value is None:
            continue
        kind = _KIND_OF[type(value)]
        wanted = kinds.setdefault(name, kind)
        if isinstance(wanted, str):
            if kind != wanted:
                return f"column {name}: expected {wanted}, found {kind}"
        elif kind != "number":
            return f"column {name}: expected number, found {kind}"
        elif isinstance(value, float) or value not in wanted:
            return f"column {name}: expected a whole number in {wanted[0]}..{wanted[-1]}, found {value}"
    return None


def _kind(kind: pa.DataType) -> str | None:
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "string"
    if types.is_struct(kind):
        return "object"
    return "array" if types.is_list(kind) or types.is_large_list(kind) else None
