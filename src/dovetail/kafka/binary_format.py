"""Records of Avro and Protobuf whose schemas are in a registry.

Each record names its schema by number, and records of several schemas may be next to each other. A column
gets the field of its name; where a schema has none it is null. So a table reads records from before and after
a change of their schema alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.connectors.flat_field import FORMS, FlatField, UnreadableSchema, for_kernel
from dovetail.connectors.flat_records import FIRST_MESSAGE
from dovetail.connectors.flat_schema import fields_of
from dovetail.connectors.kernels import binary_rows as kernels
from dovetail.connectors.schema_registry import HEAD, MAGIC, NoSchema, Registry
from dovetail.kafka.declared import as_declared
from dovetail.kafka.kernels.json_rows import text_ends, texts

Int64s = NDArray[np.int64]
_BYTES = np.array([1 << 24, 1 << 16, 1 << 8, 1])
_DECIMAL_BYTES = 16


@dataclass(frozen=True)
class Binary:
    form: str
    schema: pa.Schema
    times: str
    registry: Registry
    _missing: dict[int, str] = field(default_factory=dict, compare=False)

    def ready(self, values: pa.Array) -> None:
        """Ask for the schemas of these records. If the registry is unavailable, wait for it: that says
        nothing about the records."""
        for number in np.unique(self._numbers(values)[0]).tolist():
            if number < 0:
                continue
            try:
                self.registry.schema(number)
                self._missing.pop(number, None)
            except NoSchema:
                self._missing[number] = f"there is no schema {number} at {self.registry.where}"

    def rows(self, values: pa.Array) -> pa.Table:
        numbers, starts, stops, data = self._numbers(values)
        missing = ~values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
        if (numbers[~missing] if missing is not None else numbers).min(initial=0) < 0:
            raise pa.ArrowInvalid("the value does not begin with the number of a schema")
        parts, places = [], []
        for number in np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            places.append(at)
            if number < 0:  # a record without a value
                parts.append(self.schema.empty_table().take(pa.nulls(len(at), pa.int64())))
            else:
                parts.append(self._of(number, data, starts[at], stops[at]))
        if len(parts) == 1:
            return parts[0]
        order = np.empty(len(values), np.int64)
        order[np.concatenate(places)] = np.arange(len(values))
        return pa.concat_tables(parts).combine_chunks().take(order)

    def _numbers(self, values: pa.Array) -> tuple[Int64s, Int64s, Int64s, NDArray[np.uint8]]:
        """Numbers of schemas, -1 where there is none, and where each record begins and ends."""
        count = len(values)
        _, ends_buffer, data_buffer = values.buffers()
        ends = np.frombuffer(ends_buffer, np.int32)[values.offset : values.offset + count + 1].astype(
            np.int64
        )
        data = np.frombuffer(data_buffer, np.uint8) if data_buffer else np.empty(0, np.uint8)
        starts, stops = ends[:-1], ends[1:]
        numbers = np.full(count, -1, np.int64)
        long = np.flatnonzero(stops - starts >= HEAD.size)
        long = long[data[starts[long]] == MAGIC]
        numbers[long] = data[starts[long][:, None] + np.arange(1, HEAD.size)] @ _BYTES
        return numbers, starts + HEAD.size, stops, data

    def _of(self, number: int, data: NDArray[np.uint8], starts: Int64s, stops: Int64s) -> pa.Table:
        if number in self._missing:
            raise pa.ArrowInvalid(self._missing[number])
        try:
            fields = fields_of(self.registry.schema(number))
        except (UnreadableSchema, LookupError, TypeError, ValueError) as error:
            raise pa.ArrowInvalid(f"schema {number} cannot be read: {error}") from None
        except NoSchema:
            raise pa.ArrowInvalid(f"there is no schema {number} at {self.registry.where}") from None
        names = self.schema.names
        odd_one = next((one.name for one in fields if one.arrow is None and one.name in names), None)
        if odd_one is not None:
            raise pa.ArrowInvalid(f"field {odd_one} has a type that no column has")
        if self.form == "protobuf":
            fields = [one for one in fields if one.arrow is not None]  # a record tells how long others are
            first = stops > starts
            first[first] = data[starts[first]] == FIRST_MESSAGE[0]
            if not first.all():
                raise pa.ArrowInvalid("the record is not of the first message of its schema")
            starts = starts + 1
        at = [names.index(one.name) if one.name in names else -1 for one in fields]
        shape = len(names), len(starts)
        columns = kernels.BinaryColumns(
            np.zeros(shape, np.int64), np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
        )
        odd = np.empty(len(starts), np.bool_)
        known = for_kernel(fields, at)
        kernels.decode(
            FORMS[self.form], data.ctypes.data, starts, stops, known, columns, odd, kernels.loops()
        )
        if odd.any():
            raise pa.ArrowInvalid(f"the value is not a record of schema {number}")
        by_column = {column: one for column, one in zip(at, fields, strict=True) if column >= 0}
        made = [self._column(column, by_column.get(column), columns, data) for column in range(len(names))]
        return pa.table(made, schema=self.schema)

    def _column(
        self, number: int, one: FlatField | None, columns: kernels.BinaryColumns, data: NDArray[np.uint8]
    ) -> pa.ChunkedArray:
        wanted = self.schema.field(number)
        count = columns.given.shape[1]
        if one is None:
            return pa.chunked_array([pa.nulls(count, wanted.type)])
        found = _array(one, columns.words[number], columns.sizes[number], columns.given[number], data)
        return _declared(one.name, pa.chunked_array([found]), wanted.type, self.times)


def _array(
    one: FlatField, words: Int64s, sizes: NDArray[np.int32], given: NDArray[np.bool_], data: NDArray[np.uint8]
) -> pa.Array:
    """In the type that the schema gives the field."""
    count, kind = len(words), one.arrow
    bits = None if given.all() else pa.py_buffer(np.packbits(given, bitorder="little"))
    if one.values:  # of Protobuf, where a record may be from a newer schema: its number is all that is known
        numbers = pa.array(words, mask=~given)
        names = pa.array(one.symbols).take(pc.index_in(numbers, pa.array(one.values, pa.int64())))
        return pc.coalesce(names, numbers.cast(pa.string()))
    if one.symbols:
        if ((words < 0) | (words >= len(one.symbols)))[given].any():
            raise pa.ArrowInvalid(f"field {one.name} has a value that its schema does not name")
        return pa.array(one.symbols).take(pa.array(words, mask=~given))
    if kind is not None and pa.types.is_decimal(kind):
        return _decimals(words, sizes, bits, data, kind.scale).cast(kind)
    if one.kind in (kernels.TEXT, kernels.FIXED):
        ends = np.empty(count + 1, np.int32)
        joined = np.empty(text_ends(sizes, ~given, ends), np.uint8)
        texts(data.ctypes.data, words, ends, joined.ctypes.data)
        return pa.Array.from_buffers(kind, count, [bits, pa.py_buffer(ends), pa.py_buffer(joined)])
    if one.kind == kernels.TRUTH:
        return pa.array(words == 1, mask=~given)
    if one.kind == kernels.REAL32:
        return pa.array(words.astype(np.int32).view(np.float32), mask=~given)
    if one.kind == kernels.REAL64:
        return pa.array(words.view(np.float64), mask=~given)
    if pa.types.is_uint32(kind):
        return pa.array(words.astype(np.int32).view(np.uint32), mask=~given)
    if pa.types.is_uint64(kind):
        return pa.array(words.view(np.uint64), mask=~given)
    whole = pa.array(words, mask=~given)
    return whole.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else whole.cast(kind)


def _decimals(
    words: Int64s, sizes: NDArray[np.int32], bits: pa.Buffer | None, data: NDArray[np.uint8], scale: int
) -> pa.Array:
    """From whole numbers in big-endian bytes, each as long as it needs to be."""
    if (sizes > _DECIMAL_BYTES).any():
        raise pa.ArrowInvalid(f"a decimal has more than {_DECIMAL_BYTES} bytes")
    negative = np.zeros(len(words), np.bool_)
    negative[sizes > 0] = data[words[sizes > 0]] > 127  # the highest bit is the sign
    both = np.zeros((len(words), 2), np.uint64)  # the lower half first
    both[negative] = ~np.uint64(0)
    for place in range(int(sizes.max(initial=0))):
        at = np.flatnonzero(sizes > place)
        low, high = both[at, 0], both[at, 1]
        both[at, 1] = high << np.uint64(8) | low >> np.uint64(56)
        both[at, 0] = low << np.uint64(8) | data[words[at] + place]
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(words), [bits, pa.py_buffer(both)])


def _declared(name: str, found: pa.ChunkedArray, kind: pa.DataType, times: str) -> pa.ChunkedArray:
    """Text becomes text, or a time that is written as text; a number, a number or a time."""
    if pa.types.is_timestamp(found.type) and pa.types.is_timestamp(kind):
        return found.cast(pa.timestamp("us", found.type.tz)).cast(kind)
    from_text = pa.types.is_string(found.type) or pa.types.is_binary(found.type)
    if pa.types.is_timestamp(kind):
        fits = from_text == (times == "iso")
    elif pa.types.is_date(kind):
        fits = from_text or pa.types.is_temporal(found.type)
    else:
        fits = from_text == (pa.types.is_string(kind) or pa.types.is_binary(kind))
    if not fits:
        raise pa.ArrowInvalid(f"field {name} is {found.type}, and the column {kind}")
    return as_declared(found, kind, times)
