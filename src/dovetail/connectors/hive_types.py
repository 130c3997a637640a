"""Types of columns as Hive calls them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dovetail.errors import PlanError

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "date32[day]": "date",
}


def hive_type(kind: pa.DataType) -> str:
    """As a column is declared that holds it. Hive's timestamp has no zone: ours are in UTC."""
    from pyarrow import types

    if str(kind) in _NAMES:
        return _NAMES[str(kind)]
    if types.is_string(kind) or types.is_large_string(kind):
        return "string"
    if types.is_binary(kind) or types.is_large_binary(kind):
        return "binary"
    if types.is_timestamp(kind):
        return "timestamp"
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{hive_type(kind.value_type)}>"
    if types.is_map(kind):
        return f"map<{hive_type(kind.key_type)},{hive_type(kind.item_type)}>"
    if types.is_struct(kind):
        fields = (kind.field(at) for at in range(kind.num_fields))
        return f"struct<{','.join(f'{one.name.lower()}:{hive_type(one.type)}' for one in fields)}>"
    raise PlanError(f"Hive has no type for {kind}", hint="CAST the column in the query, or leave it out")


def arrow_type(text: str) -> pa.DataType | None:
    """What a plain column of this type holds; None of other types, which only the very same type fits."""
    import pyarrow as pa

    plain = {
        **{hive: arrow.partition("[")[0] for arrow, hive in _NAMES.items()},
        "string": "string",
        "binary": "binary",
    }
    if text == "timestamp":
        return pa.timestamp("us", "UTC")
    if found := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", text):
        return pa.decimal128(int(found[1]), int(found[2]))
    return pa.type_for_alias(plain[text]) if text in plain else None
