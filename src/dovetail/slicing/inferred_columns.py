"""The columns of a JSON or CSV input that does not declare them: as the beginning of its first file has them.

A column in which the beginning has nothing is text. What later rows have that does not fit is kept aside with
the unreadable rows, as it is with declared types.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import product

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from dovetail.errors import InputError

LOOKED_AT = 1 << 20
"""Bytes of a file."""


def inferred_columns(file: str, form: str, options: Mapping[str, str]) -> pa.Schema:
    with open(file, "rb") as opened:
        begin = opened.read(LOOKED_AT)
    if len(begin) == LOOKED_AT:  # not in the middle of a row
        begin = begin[: begin.rfind(b"\n") + 1]
    try:
        return columns_of(begin, form, options)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(
            f"the columns cannot be found in the file: {str(error).splitlines()[0][:120]}",
            where=file,
            expected=f"a {form} file whose first rows can be read",
            hint="name the columns: CREATE INPUT TABLE t (a INT, b STRING) FROM ...",
        ) from error


def columns_of(begin: bytes, form: str, options: Mapping[str, str]) -> pa.Schema:
    """The columns of whole rows. Raises an error of Arrow, or ValueError, where they have none in common."""
    given = {name.lower(): value for name, value in options.items()}
    if form == "json":
        rows = pyarrow.json.read_json(io.BytesIO(begin))
        found = pa.schema(zip(rows.column_names, map(_times_in_text, rows.columns), strict=True))
    else:
        headed = given.get("header", "true").lower() == "true"
        found = pyarrow.csv.read_csv(
            io.BytesIO(begin),
            read_options=pyarrow.csv.ReadOptions(
                autogenerate_column_names=not headed, encoding=given.get("encoding", "utf8")
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=given.get("sep", given.get("delimiter", ","))),
        ).schema
    return pa.schema([(field.name, _kept(field.type)) for field in found])


def _times_in_text(column: pa.ChunkedArray) -> pa.DataType:
    """Arrow's reader of JSON finds times in whole seconds only; others are still text. Spark reads those with
    nanoseconds, too, and cuts them off after microseconds."""
    if not pa.types.is_string(column.type) or column.null_count == len(column):
        return column.type
    for unit, zone in product(("us", "ns"), ("UTC", None)):
        kind = pa.timestamp(unit, zone)
        try:
            column.cast(kind)
        except pa.ArrowInvalid:
            continue
        return kind
    return column.type


def _kept(kind: pa.DataType) -> pa.DataType:
    """Times in the unit that Spark has, in UTC; text where nothing is known."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    return pa.string() if pa.types.is_null(kind) or pa.types.is_time(kind) else kind
