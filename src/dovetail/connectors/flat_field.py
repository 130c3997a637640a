"""A field of a record of Avro or Protobuf: how it is written, and which column it can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.connectors.kernels import binary_rows as kernels

FORMS = {"avro": kernels.AVRO, "protobuf": kernels.PROTOBUF}
UNNAMED = ""
"""What no column is called: parts of a value that is passed over."""


class UnreadableSchema(Exception):
    """Why records of a schema cannot be columns, for people."""


class FlatField(NamedTuple):
    """`arrow` None: no column can have it. `number`, `union`: as the kernels have them. `values`: the numbers
    that `symbols` stand for, if these are not 0, 1, 2 and so on, and others may come."""

    name: str
    kind: int
    arrow: pa.DataType | None
    number: int = 0
    union: int = kernels.PLAIN
    symbols: tuple[str, ...] = ()
    values: tuple[int, ...] = ()


def for_kernel(fields: Sequence[FlatField], columns: Sequence[int]) -> kernels.BinaryFields:
    """`columns`: that of each field, -1 for none."""
    return kernels.BinaryFields(
        np.array([field.kind for field in fields], np.int8),
        np.array(columns, np.int32),
        np.array([field.number for field in fields], np.int32),
        np.array([field.union for field in fields], np.int8),
    )
