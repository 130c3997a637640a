"""Text as values: which type all the texts of a column have, and the column in that type.

Laws. An inferred type loses nothing: `007` stays text, `1` is a number and not true. Times are ISO 8601, to
the microsecond, and UTC if they name no zone; they become `timestamp[us, UTC]`, dates alone become `date32`.
"""

from __future__ import annotations

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


def candidates(texts: pa.Array, among: tuple[pa.DataType, ...]) -> tuple[pa.DataType, ...]:
    """Those of the types that all the texts (nulls aside) have."""
    return tuple(kind for kind in among if _all_are(texts, kind))


def _all_are(texts: pa.Array, kind: pa.DataType) -> bool:
    try:
        convert(texts.slice(0, 100), kind)  # most columns give themselves away early
        if types.is_integer(kind) or types.is_floating(kind):
            return not _any_match(texts, _LEADING_ZERO) and convert(texts, kind) is not None
        return convert(texts, kind) is not None
    except pa.ArrowInvalid:
        return False


def convert(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The texts as values of the type; ArrowInvalid if one of them is none."""
    if types.is_timestamp(kind):
        return _timestamps(texts).cast(kind)
    if types.is_boolean(kind):
        odd = pc.filter(texts, pc.invert(pc.match_substring_regex(texts, _TRUTH)))
        if len(odd) > odd.null_count:
            raise pa.ArrowInvalid(f"expected true or false, found {odd.drop_null()[0].as_py()!r}")
    try:
        return texts.cast(kind)
    except pa.ArrowNotImplementedError as error:
        raise pa.ArrowTypeError(f"text cannot be read as {kind}") from error


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


def _any_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())
