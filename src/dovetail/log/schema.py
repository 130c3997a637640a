"""Schemas of categories, and fitting rows to them without losing anything.

Law: `fit` returns the same values in the category's types, or raises. A cast is made only where every value
of the old type has one of its own in the new (int32 to int64, float to double, seconds to microseconds);
decoding a dictionary is such a cast too. `seen` reads rows of one schema in another: a column that they do
not have is null, any other has the same values, or it raises.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from dovetail.errors import CategoryMismatch, InputError

_INTEGER_BITS = {
    pa.int8(): (True, 8),
    pa.int16(): (True, 16),
    pa.int32(): (True, 32),
    pa.int64(): (True, 64),
    pa.uint8(): (False, 8),
    pa.uint16(): (False, 16),
    pa.uint32(): (False, 32),
    pa.uint64(): (False, 64),
}
_WHOLE_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_EXACT_BITS = {pa.float16(): 11, pa.float32(): 24, pa.float64(): 53}
_TIME_UNITS = ("s", "ms", "us")
"""From coarse to fine. Nanoseconds are finer, but not all times that the others have are among them."""


def log_schema(schema: pa.Schema, *, where: str | None = None) -> pa.Schema:
    """The schema as a category keeps it: plain types, no metadata, distinct names."""
    if not schema.names or len(set(schema.names)) < len(schema.names):
        raise InputError(
            "a category needs at least one column, and each column a name of its own",
            where=where,
            expected="distinct column names",
            hint=f"the columns are: {', '.join(schema.names) or '(none)'}",
        )
    return pa.schema([plain_field(field) for field in schema])


def plain_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, plain_type(field.type), nullable=field.nullable)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without dictionaries, run-length encodings, views, extensions and metadata."""
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([plain_field(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_field(kind.item_field), keys_sorted=kind.keys_sorted)
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(plain_field(kind.value_field))
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(plain_field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(plain_field(kind.value_field), kind.list_size)
    return kind


def keeps_values(old: pa.DataType, new: pa.DataType) -> bool:
    """Every value of `old` has its own value in `new`, so a checked cast either loses nothing or fails."""
    return _keeps(old, new, surely=False)


def never_loses(old: pa.DataType, new: pa.DataType) -> bool:
    """The same, and no value is such that the cast fails."""
    return _keeps(old, new, surely=True)


def _keeps(old: pa.DataType, new: pa.DataType, *, surely: bool) -> bool:
    if old.equals(new) or types.is_null(old):
        return True
    if old in _INTEGER_BITS and new in _INTEGER_BITS:
        (old_sign, old_bits), (new_sign, new_bits) = _INTEGER_BITS[old], _INTEGER_BITS[new]
        return new_bits > old_bits and (new_sign or not old_sign)
    if old in _INTEGER_BITS and new in _EXACT_BITS:
        return _INTEGER_BITS[old][1] <= _EXACT_BITS[new]
    if old in _EXACT_BITS and new in _EXACT_BITS:
        return _EXACT_BITS[old] <= _EXACT_BITS[new]
    if types.is_timestamp(old) and types.is_timestamp(new):
        # A cast to a coarser unit is checked value by value, and times without a zone are taken as UTC.
        if not surely:
            return True
        units = [unit for unit in _TIME_UNITS if unit in (old.unit, new.unit)]
        return old.tz == new.tz and units == [old.unit, new.unit]
    if types.is_date32(old) and types.is_date64(new):
        return True
    if old in _INTEGER_BITS and types.is_decimal(new):
        signed, bits = _INTEGER_BITS[old]
        digits = 20 if (signed, bits) == (False, 64) else _WHOLE_DIGITS[bits]
        return bool(new.precision - new.scale >= digits)
    if types.is_decimal(old) and types.is_decimal(new):
        whole = new.precision - new.scale >= old.precision - old.scale
        return bool(whole and new.scale >= old.scale)
    if types.is_struct(old) and types.is_struct(new):
        same_names = [field.name for field in old] == [field.name for field in new]
        return same_names and all(_keeps_field(a, b, surely) for a, b in zip(old, new, strict=True))
    if types.is_map(old) and types.is_map(new):
        keys = _keeps(old.key_type, new.key_type, surely=surely)
        return keys and _keeps_field(old.item_field, new.item_field, surely)
    if types.is_list(old) or types.is_large_list(old):
        lists = types.is_list(new) or types.is_large_list(new)
        return lists and _keeps_field(old.value_field, new.value_field, surely)
    text = (pa.string(), pa.large_string())
    binary = (pa.binary(), pa.large_binary())
    return (old in text and new in text) or (old in binary and new in binary)


def _keeps_field(old: pa.Field, new: pa.Field, surely: bool) -> bool:
    fits = not surely or new.nullable or not old.nullable
    return fits and _keeps(old.type, new.type, surely=surely)


def takes(schema: pa.Schema, wanted: pa.Schema) -> bool:
    """Rows of `wanted` are rows of `schema` as they are: a column that may be null need not be."""
    if schema.names != wanted.names or schema.types != wanted.types:
        return False
    return all(field.nullable or not given.nullable for field, given in zip(schema, wanted, strict=True))


def differences(found: pa.Schema, wanted: pa.Schema) -> list[str]:
    """What keeps rows of schema `found` out of `wanted`, one line for each column."""
    lines = []
    for field in wanted:
        index = found.get_field_index(field.name)
        if index < 0:
            lines.append(f"column {field.name} ({field.type}) is missing")
        elif not keeps_values(plain_type(found.field(index).type), field.type):
            lines.append(f"column {field.name} is {found.field(index).type}, not {field.type}")
    lines += [f"column {name} is not in the category" for name in found.names if name not in wanted.names]
    return lines


def fit(table: pa.Table, schema: pa.Schema, *, where: str | None = None) -> pa.Table:
    """The same rows in `schema`: columns by name, types cast where nothing is lost."""
    if not table.schema.equals(schema):
        if trouble := differences(table.schema, schema):
            raise CategoryMismatch(
                f"the rows do not fit the category: {'; '.join(trouble)}",
                where=where,
                expected=describe(schema),
                hint="rename or cast the columns first, or write to another category",
            )
        columns = [cast(table.column(field.name), field, where=where) for field in schema]
        table = pa.Table.from_arrays(columns, schema=schema)
    for field in schema:
        if not field.nullable and table.column(field.name).null_count:
            raise CategoryMismatch(
                f"column {field.name} has nulls",
                where=where,
                expected=f"{field.name}: {field.type} not null",
                hint="filter the nulls out first, or write to a category whose column may be null",
            )
    return table


def cast(column: pa.ChunkedArray, field: pa.Field, *, where: str | None = None) -> pa.ChunkedArray:
    """The column in the field's type; the caller has seen that `keeps_values` allows it."""
    try:
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.cast(column.type.storage_type)
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise InputError(
            f"column {field.name} does not fit: {error}",
            where=where,
            expected=f"{field.name}: {field.type}",
            hint="cast or round the column first",
        ) from error


def seen(batch: pa.RecordBatch, schema: pa.Schema, *, where: str | None = None) -> pa.RecordBatch:
    """The same rows in the columns of `schema`, by name."""
    columns = []
    for field in schema:
        at = batch.schema.get_field_index(field.name)
        if at >= 0:
            columns.append(_same_values(batch.column(at), field, where))
        elif field.nullable or not batch.num_rows:
            columns.append(nulls(batch.num_rows, field.type))
        else:
            raise CategoryMismatch(
                f"the category goes on without column {field.name}, which this reader needs in every row",
                where=where,
                expected=f"{field.name}: {field.type} not null",
                hint=_READ_AGAIN,
            )
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _same_values(column: pa.Array, field: pa.Field, where: str | None) -> pa.Array:
    """In the field's type. A reader that has not heard of a wider type goes on as long as the values fit."""
    if column.type.equals(field.type):
        return column
    try:
        made = column.cast(field.type)
        if never_loses(column.type, field.type) or _equal(made.cast(column.type), column):
            return made
        trouble = f"{field.type} does not hold all of its values"
    except pa.ArrowException as error:
        trouble = str(error)
    raise CategoryMismatch(
        f"column {field.name} of the category is {column.type} now: {trouble}",
        where=where,
        expected=f"{field.name}: {field.type}",
        hint=_READ_AGAIN,
    )


def _equal(one: pa.Array, other: pa.Array) -> bool:
    if not types.is_floating(one.type):
        return bool(one.equals(other))
    same = pc.or_(pc.equal(one, other), pc.and_(pc.is_nan(one), pc.is_nan(other)))
    return pc.all(same, min_count=0).as_py() is not False


def nulls(rows: int, kind: pa.DataType) -> pa.Array:
    """Nulls, of plain types all in the same memory: columns that a category got later cost none."""
    width = 1 if types.is_boolean(kind) else kind.bit_width // 8 if _fixed_width(kind) else 0
    texts = types.is_string(kind) or types.is_binary(kind)
    if not (width or texts) or max(width, 4) * (rows + 1) > _NOTHING.size:
        return pa.nulls(rows, kind)
    return pa.Array.from_buffers(kind, rows, [_NOTHING] * (3 if texts else 2), null_count=rows)


def _fixed_width(kind: pa.DataType) -> bool:
    return bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind))


_NOTHING = pa.py_buffer(np.zeros(16 * ((1 << 18) + 1), np.uint8))
"""Zeros for the rows of a whole segment. Memory that is only read takes no place."""

_READ_AGAIN = "start the reader again: it will read the columns that the category has now"


_SQL_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
}


def sql_type(kind: pa.DataType) -> str:
    """The type as a query writes it; Arrow's name for one that a query cannot name."""
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _SQL_TYPES.get(kind, str(kind))


def describe(schema: pa.Schema) -> str:
    """One line for people: `id: int64, name: string not null`."""
    return ", ".join(f"{f.name}: {f.type}{'' if f.nullable else ' not null'}" for f in schema)
