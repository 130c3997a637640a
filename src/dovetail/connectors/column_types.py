"""Declared types of plain columns as Arrow has them, where no Spark is at hand to ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dovetail.errors import PlanError

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN = "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, STRING, BINARY, DATE or TIMESTAMP"


def arrow_type(declared: str) -> pa.DataType:
    """Raises a PlanError if it is no plain type."""
    import pyarrow as pa

    known = {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "STRING": pa.string(),
        "BINARY": pa.binary(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us", "UTC"),
        "TIMESTAMP_LTZ": pa.timestamp("us", "UTC"),
        "TIMESTAMP_NTZ": pa.timestamp("us"),
    }
    name, _, rest = declared.upper().partition("(")
    name = name.strip()
    if name == "DECIMAL":
        digits = [int(part) for part in re.findall(r"\d+", rest)] or [10, 0]
        return pa.decimal128(digits[0], digits[1] if len(digits) > 1 else 0)
    if name in ("VARCHAR", "CHAR"):
        return pa.string()
    if name not in known:
        raise PlanError(f"{declared} is not a plain type", expected=PLAIN)
    return known[name]
