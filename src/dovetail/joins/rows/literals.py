"""Text that users type, as values of a column's type."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from dovetail.errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def value_of(text: str, kind: pa.DataType, what: str) -> pa.Array:
    """One value of a type, as an array of length 1. `what` names it in errors."""
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return pa.array([text], kind)
        if pa.types.is_timestamp(kind):
            return pa.array([_micros(text)], pa.timestamp("us", kind.tz)).cast(kind)
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raw = bytes.fromhex(text[2:]) if text.lower().startswith("0x") else text.encode()
            return pa.array([raw], kind)
        if pa.types.is_nested(kind):
            return pa.array([json.loads(text)], kind)
        return pa.array([text.strip()]).cast(kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{text!r} is not a value of type {kind}",
            where=what,
            expected=_example(kind),
            hint=" ".join(str(error).split()) or None,
        ) from None


def instant_us(text: str, what: str) -> int:
    """Microseconds since the epoch of a time in ISO 8601; without a zone it is UTC."""
    try:
        return _micros(text)
    except ValueError:
        raise InputError(
            f"{text!r} is not a time", where=what, expected=_example(pa.timestamp("us"))
        ) from None


def _micros(text: str) -> int:
    moment = datetime.fromisoformat(text.strip())
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _example(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "a time in ISO 8601, such as 2026-01-31T12:00:00Z; without a zone it is UTC"
    if pa.types.is_date(kind):
        return "a date, such as 2026-01-31"
    if pa.types.is_boolean(kind):
        return "true or false"
    if pa.types.is_binary(kind):
        return "text, or 0x and hexadecimal digits"
    if pa.types.is_nested(kind):
        return "a value in JSON"
    return "a number that fits the type"
