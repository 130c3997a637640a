"""Lines of JSON and CSV files as columns, and those lines about which there is any doubt.

Law: the rows are exactly those that Spark reads from the same lines. A line is read here only if it is so
plain that nobody could read it otherwise: one flat object, or one field for each column; numbers that fit
their types, times as ISO 8601 writes them, text in UTF-8. Every other line is left to Spark, which alone
decides whether it is a row or a reject. So nothing of Spark's leniency has to be repeated here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.slicing.kernels import text_values
from dovetail.slicing.kernels.csv_lines import take_apart_csv
from dovetail.slicing.kernels.json_lines import take_apart_json
from dovetail.slicing.kernels.tokens import NULL, TEXT, TRUE, Tokens, no_tokens

Bytes = NDArray[np.uint8]
MOMENT = pa.timestamp("us", "UTC")
SEPARATORS = ",;|\t"
NEWLINE = 0x0A
Places = tuple[Bytes, NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]
_LIMITS: Mapping[pa.DataType, Any] = {kind: np.iinfo(kind.to_pandas_dtype()) for kind in (
    pa.int8(), pa.int16(), pa.int32(), pa.int64()
)}  # fmt: skip
_READ = (*_LIMITS, pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), MOMENT)


def is_plain(schema: pa.Schema) -> bool:
    """Whether columns of these types can be read here."""
    return len(schema) > 0 and all(field.type in _READ for field in schema)


@dataclass(frozen=True)
class TextFormat:
    """`schema`: the columns of a line; in CSV those of each file, in this order. `header`: the first line of
    a file names them."""

    form: Literal["json", "csv"]
    schema: pa.Schema
    separator: str = ","
    header: bool = False

    @cached_property
    def _names(self) -> tuple[Bytes, NDArray[np.int64]]:
        names = [name.encode() for name in self.schema.names]
        return np.frombuffer(b"".join(names), np.uint8), np.cumsum([len(name) for name in names])

    def rows(self, text: bytes, wanted: Collection[str]) -> tuple[pa.Table, bytes]:
        """The wanted columns of the plain lines, and the other lines as they are. `text`: whole lines, each
        with its line break."""
        given = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(given == NEWLINE)
        starts = np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1] + 1])
        stops = ends - ((ends > starts) & (given[ends - 1] == 0x0D))
        tokens = no_tokens(len(self.schema), len(starts))
        if self.form == "json":
            take_apart_json(given, starts, stops, *self._names, text.isascii(), tokens)
        else:
            take_apart_csv(given, starts, stops, ord(self.separator), text.isascii(), tokens)
        columns = {}
        for number, field in enumerate(self.schema):
            values = self._column(given, number, field.type, tokens, needed=field.name in wanted)
            if field.name in wanted:
                columns[field.name] = values
        table = pa.table(columns)
        if not tokens.doubtful.any():
            return table, b""
        whole = tokens._replace(
            starts=starts[None], stops=ends[None] + 1, kinds=np.where(tokens.doubtful, TEXT, NULL)[None]
        )
        left = _texts(given, whole._replace(kinds=whole.kinds.astype(np.uint8)), 0)
        return table.filter(pa.array(~tokens.doubtful)), left.buffers()[2].to_pybytes()

    def _column(self, text: Bytes, number: int, kind: pa.DataType, tokens: Tokens, *, needed: bool) -> Any:
        places = text, tokens.starts[number], tokens.stops[number], tokens.kinds[number]
        kinds, doubtful = tokens.kinds[number], tokens.doubtful
        csv = self.form == "csv"
        if pa.types.is_string(kind):
            return _texts(text, tokens, number) if needed else text_values.text_room(*places[1:], doubtful)
        if pa.types.is_boolean(kind):
            if csv:
                text_values.mark_words(*places)
            doubtful |= (kinds != NULL) & (kinds < TRUE)
            return _array(kind, np.packbits(kinds == TRUE, bitorder="little"), kinds)
        if pa.types.is_date32(kind):
            dates = np.empty(len(kinds), np.int32)
            text_values.days(*places, dates, doubtful)
            return _array(kind, dates, kinds)
        if csv and kind != MOMENT:
            text_values.mark_numbers(*places)
        if pa.types.is_floating(kind):
            return _reals(kind, places, kinds, doubtful)
        values = np.empty(len(kinds), np.int64)
        if kind == MOMENT:
            text_values.moments(*places, not csv, values, doubtful)
        else:
            limits = _LIMITS[kind]
            text_values.whole_numbers(*places, limits.min, limits.max, values, doubtful)
            values = values.astype(kind.to_pandas_dtype(), copy=False)
        return _array(kind, values, kinds)


def _array(kind: pa.DataType, values: NDArray[Any], kinds: NDArray[np.uint8]) -> pa.Array:
    nulls = kinds == NULL
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    return pa.Array.from_buffers(kind, len(kinds), [valid, pa.py_buffer(values)])


def _texts(text: Bytes, tokens: Tokens, number: int) -> pa.Array:
    starts, stops, kinds = tokens.starts[number], tokens.stops[number], tokens.kinds[number]
    room = text_values.text_room(starts, stops, kinds, tokens.doubtful)
    offsets, data = np.empty(len(kinds) + 1, np.int32), np.empty(room, np.uint8)
    text_values.text_bytes(text, starts, stops, kinds, offsets, data)
    nulls = kinds == NULL
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    return pa.StringArray.from_buffers(len(kinds), pa.py_buffer(offsets), pa.py_buffer(data), valid)


def _reals(
    kind: pa.DataType, places: Places, kinds: NDArray[np.uint8], doubtful: NDArray[np.bool_]
) -> pa.Array:
    """Arrow rounds correctly, as Java does. It is asked where a number has many digits, and for floats: a
    double that becomes one would be rounded twice."""
    values, left_over = np.empty(len(kinds), np.float64), np.zeros(len(kinds), bool)
    text_values.reals(*places, values, left_over, doubtful)
    if pa.types.is_float32(kind):
        left_over = (kinds != NULL) & ~doubtful
        values = values.astype(np.float32)
    if left_over.any():
        text, starts, stops, _ = places
        shown = np.full((1, int(left_over.sum())), TEXT, np.uint8)
        tokens = Tokens(
            starts[left_over][None], stops[left_over][None], shown, np.zeros(shown.shape[1], bool)
        )
        values[left_over] = pc.cast(_texts(text, tokens, 0), kind).to_numpy()
    doubtful |= ~np.isfinite(values)
    return _array(kind, values, kinds)


def warm() -> None:
    """Compile the kernels: each format reads a line with a column of each type."""
    schema = pa.schema([(str(number), kind) for number, kind in enumerate(_READ)])
    for form in (TextFormat("json", schema), TextFormat("csv", schema)):
        form.rows(b"\n", schema.names)
