"""Schemas of categories, and fitting rows to them without losing anything.

Law: `fit` returns the same values in the category's types, or raises. A cast is made only where every value
of the old type has one of its own in the new (int32 to int64, float to double, seconds to microseconds);
decoding a dictionary is such a cast too.
"""

from __future__ import annotations

import pyarrow as pa
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
_EXACT_BITS = {pa.float16(): 11, pa.float32(): 24, pa.float64(): 53}
_TIME_UNITS = ("s", "ms", "us", "ns")


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
        return True
    if types.is_date32(old) and types.is_date64(new):
        return True
    if old in _INTEGER_BITS and types.is_decimal(new):
        return bool(new.precision - new.scale >= 20)
    if types.is_struct(old) and types.is_struct(new):
        same_names = [field.name for field in old] == [field.name for field in new]
        return same_names and all(keeps_values(a.type, b.type) for a, b in zip(old, new, strict=True))
    if types.is_map(old) and types.is_map(new):
        return keeps_values(old.key_type, new.key_type) and keeps_values(old.item_type, new.item_type)
    if types.is_list(old) or types.is_large_list(old):
        return (types.is_list(new) or types.is_large_list(new)) and keeps_values(
            old.value_type, new.value_type
        )
    text = (pa.string(), pa.large_string())
    binary = (pa.binary(), pa.large_binary())
    return (old in text and new in text) or (old in binary and new in binary)


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


def describe(schema: pa.Schema) -> str:
    """One line for people: `id: int64, name: string not null`."""
    return ", ".join(f"{f.name}: {f.type}{'' if f.nullable else ' not null'}" for f in schema)
