"""Text as values: which type all the texts of a column have, and the column in that type.

Laws. An inferred type loses nothing: `007` stays text, `1` is a number and not true. Times are ISO 8601, to
the microsecond, and UTC if they name no zone; they become `timestamp[us, UTC]`, dates alone become `date32`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

TIMESTAMP = pa.timestamp("us", "UTC")
TIMES = (pa.date32(), TIMESTAMP)
VALUES = (pa.bool_(), pa.int64(), pa.float64(), *TIMES)
"""What texts may turn out to be, the narrowest first."""

_ZONED = r"\d:\d{2}.*(Z|[+-]\d{2}(:?\d{2})?)$"
_FINER_ZEROS = r"(\.\d{6})0+"
_LEADING_ZERO = r"^-?0[0-9xX]"
_TRUTH = r"^(?i:true|false)$"

Value = TypeVar("Value")


class Fitted(NamedTuple):
    """The rows whose texts all convert, and for the others, by position, why not."""

    batch: pa.RecordBatch
    reasons: dict[int, str]


def candidates(texts: pa.Array, among: tuple[pa.DataType, ...]) -> tuple[pa.DataType, ...]:
    """Those of the types that all the texts (nulls aside) have."""
    return tuple(kind for kind in among if _all_are(texts, kind))


def _all_are(texts: pa.Array, kind: pa.DataType) -> bool:
    try:
        convert(texts.slice(0, 100), kind)  # most columns give themselves away early
        convert(texts, kind)
    except pa.ArrowInvalid:
        return False
    number = types.is_integer(kind) or types.is_floating(kind)
    return not (number and pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py())


def convert(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts (or the bytes of texts) as values of the type; ArrowInvalid if one of them is none."""
    if texts.type.equals(kind):
        return texts
    if types.is_binary(texts.type):
        texts = texts.cast(pa.string())
    if types.is_timestamp(kind):
        return _timestamps(texts).cast(kind)
    if types.is_boolean(kind) and not pc.all(pc.match_substring_regex(texts, _TRUTH)).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    try:
        return texts.cast(kind)
    except pa.ArrowNotImplementedError as error:
        raise pa.ArrowTypeError(f"text cannot be read as {kind}") from error


def fit_texts(batch: pa.RecordBatch, schema: pa.Schema) -> Fitted:
    """The batch's columns, by name, in the types of the schema; rows with a text that does not convert stay
    out."""
    reasons: dict[int, str] = {}
    columns = []
    for field in schema:
        column = batch.column(field.name)
        try:
            columns.append(convert(column, field.type))
        except pa.ArrowInvalid:
            values, bad = _what_converts(column, field.type)
            columns.append(values)
            reasons = {row: f"column {field.name}: {reason}" for row, reason in bad.items()} | reasons
    result = pa.RecordBatch.from_arrays(columns, names=schema.names)
    if reasons:
        good = np.ones(batch.num_rows, bool)
        good[list(reasons)] = False
        result = result.filter(pa.array(good))
    return Fitted(result, reasons)


def _what_converts(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """The values, null where a text is none; and those rows with the reason."""
    rest = column
    bad: list[int] = []
    if shape := _shape(kind):
        # One look at all the texts finds most misfits; the others are found by halving.
        misfits = pc.invert(pc.match_substring_regex(column, shape))
        bad = np.flatnonzero(pc.fill_null(misfits, False).to_numpy(zero_copy_only=False)).tolist()
        rest = pc.if_else(misfits, pa.scalar(None, column.type), column)
    pieces = []
    for part in salvage(len(rest), lambda start, stop: convert(rest.slice(start, stop - start), kind)):
        pieces.append(pa.nulls(1, kind) if part.value is None else part.value)
        bad += [part.start] if part.value is None else []
    return pa.concat_arrays(pieces), {row: _reason(column[row].as_py(), kind) for row in bad}


def _shape(kind: pa.DataType) -> str | None:
    """What every text of the type looks like (and some others do)."""
    if types.is_timestamp(kind) or types.is_date(kind):
        return r"^\d{4}-\d{2}-\d{2}"
    if types.is_boolean(kind):
        return _TRUTH
    if types.is_integer(kind):
        return r"^-?[0-9a-fA-FxX]+$"
    return r"^[-+0-9.eEinfatyINFATY]+$" if types.is_floating(kind) else None


def _reason(found: str | bytes, kind: pa.DataType) -> str:
    text = found.decode(errors="backslashreplace") if isinstance(found, bytes) else found
    if types.is_string(kind):
        return f"expected UTF-8 text, found {text}"
    return f"expected {'true or false' if types.is_boolean(kind) else kind}, found {text!r}"


def _timestamps(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(pa.timestamp("us")).cast(TIMESTAMP)
    except pa.ArrowInvalid:
        pass
    try:
        return texts.cast(TIMESTAMP)
    except pa.ArrowInvalid:
        pass
    # Some with a zone and some without, or digits beyond the microsecond that are all zero.
    texts = pc.replace_substring_regex(texts, _FINER_ZEROS, r"\1")
    zoned = pc.match_substring_regex(texts, _ZONED)
    nothing = pa.scalar(None, pa.string())
    local = pc.if_else(zoned, nothing, texts).cast(pa.timestamp("us")).cast(TIMESTAMP)
    return pc.coalesce(pc.if_else(zoned, texts, nothing).cast(TIMESTAMP), local)


class SalvagedPart(NamedTuple, Generic[Value]):
    """Rows `start..stop-1`: what the attempt gave, or why it failed."""

    start: int
    stop: int
    value: Value | None
    reason: str | None


def salvage(count: int, attempt: Callable[[int, int], Value]) -> Iterator[SalvagedPart[Value]]:
    """Run `attempt(start, stop)` over all rows; it raises ArrowInvalid where a row is bad. What fails is
    halved until it is one row: the parts cover all rows in order, and a part that failed is one row long.
    With `k` bad rows that takes about `k log(count / k)` attempts; with none, one."""
    pending = [(0, count)] if count else []
    while pending:
        start, stop = pending.pop()
        try:
            yield SalvagedPart(start, stop, attempt(start, stop), None)
        except pa.ArrowInvalid as error:
            if stop - start == 1:
                yield SalvagedPart(start, stop, None, str(error))
            else:
                middle = (start + stop) // 2
                pending += [(middle, stop), (start, middle)]
