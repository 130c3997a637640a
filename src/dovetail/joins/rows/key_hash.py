"""The hash of key columns in Arrow form, as Spark SQL's `xxhash64` has it. Keys are not null here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.kernels import xxhash64


def hashable(kind: pa.DataType) -> bool:
    """Whether this type can be hashed here; others are left to Spark."""
    return (
        pa.types.is_signed_integer(kind)
        or (pa.types.is_floating(kind) and not pa.types.is_float16(kind))
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or (pa.types.is_timestamp(kind) and kind.unit == "us")
        or pa.types.is_string(kind)
        or pa.types.is_binary(kind)
    )


def hash_keys(keys: Sequence[pa.Array]) -> NDArray[np.int64]:
    """One hash a row. Where a key is null the hash means nothing: such a row matches nothing."""
    hashes = np.full(len(keys[0]), xxhash64.SEED, np.uint64)
    for key in keys:
        _fold(key, hashes)
    return hashes.view(np.int64)


def _fold(key: pa.Array, hashes: NDArray[np.uint64]) -> None:
    kind = key.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, offsets, data = key.buffers()
        starts = np.frombuffer(offsets, np.int32)[key.offset : key.offset + len(key) + 1].astype(np.int64)
        content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        xxhash64.hash_bytes(content, starts, hashes)
    elif kind in (pa.int64(), pa.float64()) or pa.types.is_timestamp(kind):
        xxhash64.hash_longs(
            _bits(key, np.int64 if kind != pa.float64() else np.float64).view(np.uint64), hashes
        )
    elif kind == pa.float32():
        xxhash64.hash_ints(_bits(key, np.float32).view(np.uint32), hashes)
    else:  # booleans, bytes, shorts, ints and dates are 32 bits wide
        narrow = key.cast(pa.int32()) if not pa.types.is_date32(kind) else key.view(pa.int32())
        xxhash64.hash_ints(_bits(narrow, np.int32).view(np.uint32), hashes)


def _bits(key: pa.Array, kind: type[np.generic]) -> NDArray[np.generic]:
    """The values as NumPy sees them, contiguous; zeros and NaNs in one form."""
    if pa.types.is_timestamp(key.type):
        key = key.view(pa.int64())
    values = pc.fill_null(key, 0).to_numpy(zero_copy_only=False).astype(kind, copy=False)
    if np.issubdtype(kind, np.floating):
        values = np.where(np.isnan(values), kind(np.nan), values + kind(0))
    return np.ascontiguousarray(values)
