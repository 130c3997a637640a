"""Rows as texts, a text for each row: JSON objects, or lines of CSV. Columns are turned into columns of text
and put together, so that nothing is done row by row.

Law: what JSON reads back is what went in. Times are ISO text in UTC, dates too; binary is base64; numbers
that JSON has no word for are the texts "NaN", "Infinity" and "-Infinity", as Spark writes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

Texts = Callable[[pa.Array], pa.Array]
_NULL = "null"


def json_objects(rows: pa.RecordBatch) -> pa.Array:
    """Fields that are null are there, as null."""
    return _object(rows.schema.names, rows.columns)


def csv_lines(rows: pa.RecordBatch) -> pa.Array:
    """Null is nothing, empty text is quoted."""
    made = [pc.fill_null(_csv_value(column), "") for column in rows.columns]
    return pc.binary_join_element_wise(*made, ",")


def _object(names: Sequence[str], columns: Sequence[pa.Array]) -> pa.Array:
    pieces: list[pa.Array | str] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        pieces += [f"{',' if number else '{'}{json.dumps(name)}:", _value(column)]
    return pc.binary_join_element_wise(*pieces, "}", "") if pieces else pa.array([], pa.string())


def _value(column: pa.Array) -> pa.Array:
    """A column as JSON, `null` where it is null."""
    return pc.fill_null(_text(column), _NULL)


def _text(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_struct(kind):
        names = [kind.field(number).name for number in range(kind.num_fields)]
        made = _object(names, column.flatten()) if names else pa.array(["{}"] * len(column))
        return pc.if_else(column.is_valid(), made, pa.scalar(None, pa.string()))
    if pa.types.is_map(kind):
        keys = _quoted(column.keys.cast(pa.string()))
        entries = pc.binary_join_element_wise(keys, _value(column.items), ":")
        return _enclosed(column, entries, "{", "}")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _enclosed(column, _value(column.values), "[", "]")
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _number(column)
    return _quoted(_plain(column))


def _enclosed(column: pa.Array, values: pa.Array, opening: str, closing: str) -> pa.Array:
    """Lists of these values, with the lengths that the lists of the column have."""
    texts = pa.ListArray.from_arrays(column.offsets.cast(pa.int32()), values)
    made = pc.binary_join_element_wise(opening, pc.binary_join(texts, ","), closing, "")
    return pc.if_else(column.is_valid(), made, pa.scalar(None, pa.string()))


def _number(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    finite = pc.is_finite(column)
    if pc.all(finite).as_py() is not False:
        return texts
    words = pc.if_else(
        pc.is_nan(column), '"NaN"', pc.if_else(pc.greater(column, 0), '"Infinity"', '"-Infinity"')
    )
    return pc.if_else(finite, texts, words)


def _plain(column: pa.Array) -> pa.Array:
    """A column that is written as text, without quotes."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        shown = pc.strftime(column.cast(pa.timestamp("us", "UTC")), "%Y-%m-%dT%H:%M:%S")
        return pc.binary_join_element_wise(shown, "Z", "")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        coded = [None if one is None else base64.b64encode(one).decode() for one in column.to_pylist()]
        return pa.array(coded, pa.string())
    return column.cast(pa.string())


def _quoted(texts: pa.Array) -> pa.Array:
    """JSON strings. Control characters are rare; texts that have some are quoted one by one."""
    escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    made = pc.binary_join_element_wise('"', escaped, '"', "")
    odd = pc.fill_null(pc.match_substring_regex(texts, r"[\x00-\x1f]"), False)
    if pc.any(odd).as_py():
        by_hand = [json.dumps(one, ensure_ascii=False) for one in texts.filter(odd).to_pylist()]
        made = pc.replace_with_mask(made, odd, pa.array(by_hand, pa.string()))
    return made


def _csv_value(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_nested(kind):
        texts = _text(column)
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    else:
        texts = _plain(column)
    needed = pc.match_substring_regex(texts, r'^$|[",\r\n]')
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(needed, quoted, texts)
