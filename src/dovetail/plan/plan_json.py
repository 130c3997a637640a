"""Frozen dataclasses as JSON and back, by their type annotations: `decode(encode(value)) == value`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

Kinds = Mapping[str, type]
"""Classes that share a field with others. Their JSON has a `kind` that says which one it is."""


def encode(value: Any, kinds: Kinds) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        made = {field.name: encode(getattr(value, field.name), kinds) for field in fields(value)}
        return {"kind": type(value).__name__, **made} if type(value).__name__ in kinds else made
    if isinstance(value, tuple):
        return [encode(item, kinds) for item in value]
    return value


def decode(data: Any, wanted: Any, kinds: Kinds) -> Any:
    """Raises KeyError, TypeError or ValueError if the data does not have this type."""
    origin = get_origin(wanted)
    if origin is tuple:
        inner = get_args(wanted)
        if not isinstance(data, list):
            raise TypeError(f"{data!r} is not a list")
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(decode(item, inner[0], kinds) for item in data)
        return tuple(decode(item, kind, kinds) for item, kind in zip(data, inner, strict=True))
    if origin in (Union, types.UnionType):
        if data is None and type(None) in get_args(wanted):
            return None
        members = [member for member in get_args(wanted) if member is not type(None)]
        return decode(data, _member(data, members, kinds), kinds)
    if is_dataclass(wanted) and isinstance(wanted, type):
        hints = get_type_hints(wanted)
        rest = {name: value for name, value in data.items() if name != "kind"}
        return wanted(**{name: decode(value, hints[name], kinds) for name, value in rest.items()})
    if wanted in (str, int, bool) and type(data) is not wanted:
        raise TypeError(f"{data!r} is not {wanted.__name__}")
    return data


def _member(data: Any, members: list[Any], kinds: Kinds) -> Any:
    """Of several types, the one that data was: classes say it, lists are tuples, others are themselves."""
    if isinstance(data, dict) and "kind" in data:
        kind = kinds[data["kind"]]
        if kind not in members:
            raise TypeError(f"{kind.__name__} is not allowed here")
        return kind
    wanted = tuple if isinstance(data, list) else type(data)
    return next((member for member in members if (get_origin(member) or member) is wanted), members[0])
