"""The options of JSON and CSV files that are followed without Spark, and the lines that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from dovetail.slicing.input_files import PACE
from dovetail.slicing.text_lines import SEPARATORS, TextFormat, is_plain

FORMATS = ("json", "csv")
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
"""Time zones in which times without an offset are taken as they are."""
_CSV = {"header", "sep", "delimiter", "enforceschema"}
_PERMISSIVE = {"mode", "columnnameofcorruptrecord"}


def are_followed(form: str, options: Iterable[str]) -> bool:
    """Whether options of these names, in lower case, change nothing that is not known here."""
    return set(options) <= PACE | _PERMISSIVE | (_CSV if form == "csv" else set())


def text_format(form: str, columns: pa.Schema, options: Mapping[str, str]) -> TextFormat | None:
    """Lines with these columns. `options`: by lower-case name. None: only Spark can read them."""
    if not are_followed(form, options) or not is_plain(columns) or len(set(columns.names)) < len(columns):
        return None
    if form == "json":
        return TextFormat("json", columns)
    header = options.get("header", "false").lower()
    separator = options.get("sep", options.get("delimiter", ","))
    if header not in ("true", "false") or len(separator) != 1 or separator not in SEPARATORS:
        return None
    if "sep" in options and "delimiter" in options:
        return None
    return TextFormat("csv", columns, separator, header == "true")
