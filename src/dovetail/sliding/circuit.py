"""`dovetail.lock_step_join`: columns of two streams through the emulated circuit (`lock_step.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.errors import InputError
from dovetail.model.sliding import Window
from dovetail.sliding.batches import Batch, as_numbers, as_record_batch, dtypes_of
from dovetail.sliding.driver import Driver
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.lock_step import Chip, Emulated, check_whole, emulate
from dovetail.sliding.topology import Messages, SlidingJob
from dovetail.sliding.units import check_units


def lock_step_join(
    on: str,
    *,
    left: Batch,
    right: Batch,
    chip: Chip,
    rights: Any = None,
    cycles_between: int = 0,
) -> Emulated:
    """Join two streams on a chip, clock by clock.

    `left` and `right` have all rows of a stream in the order of arrival: columns by name, or an Arrow batch.
    `rights` says for each arrival whether it is a right row; without it, rows alternate, left first, and
    what is left of the longer stream comes last. A row comes every `cycles_between` clocks, or (0) as fast as
    the circuit takes them.
    """
    check_whole("cycles_between", cycles_between)
    batches = {"left": _batch(left, "left"), "right": _batch(right, "right")}
    dtypes = {side: dtypes_of(batch.schema) for side, batch in batches.items()}
    predicate = parsed(on)
    check_units(predicate, {side: batch.schema for side, batch in batches.items()})
    encoding = Encoding(predicate, dtypes["left"], dtypes["right"], "scan")
    counts = [batch.num_rows for batch in batches.values()]
    is_right = _by_turns(*counts) if rights is None else _checked(rights, *counts)
    messages = np.zeros((len(is_right), encoding.layout.words), np.int64)
    for (side, batch), which in zip(batches.items(), (~is_right, is_right), strict=True):
        messages[which] = _messages(encoding, side, batch)
    # The driver only numbers the rows: the chip's registers are the windows.
    Driver(SlidingJob(encoding, Window(rows=1), Window(rows=1)), wants_first=False).number(
        messages, np.arange(len(is_right))
    )
    return emulate(chip, encoding, messages, cycles_between)


def _batch(given: Batch, side: str) -> pa.RecordBatch:
    if isinstance(given, Mapping):
        try:
            given = pa.table({name: pa.array(column) for name, column in given.items()})
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(
                f"these are not columns: {error}",
                where=f"{side}",
                expected="names with arrays of equal length",
                hint='left={"x": np.array([1, 2, 3])}',
            ) from error
    schema = given.schema if isinstance(given, pa.Table | pa.RecordBatch) else pa.schema([])
    return as_record_batch(given, schema, side)


def _messages(encoding: Encoding, side: str, batch: pa.RecordBatch) -> Messages:
    columns: dict[str, npt.NDArray[np.generic]] = {}
    nulls: npt.NDArray[np.bool_] | None = None
    for name in encoding.columns[side]:
        columns[name], of_column = as_numbers(batch.column(name))
        if of_column is not None:
            nulls = of_column if nulls is None else nulls | of_column
    return encoding.messages(side, columns, nulls, batch.num_rows)


def _by_turns(lefts: int, rights: int) -> npt.NDArray[np.bool_]:
    place = np.concatenate([2 * np.arange(lefts), 2 * np.arange(rights) + 1])
    return np.repeat([False, True], [lefts, rights])[np.argsort(place)]


def _checked(rights: Any, lefts: int, of_right: int) -> npt.NDArray[np.bool_]:
    order = np.asarray(rights)
    if order.dtype != np.bool_ or order.shape != (lefts + of_right,) or int(order.sum()) != of_right:
        raise InputError(
            "rights does not say of each row which stream it is of",
            where="rights",
            expected=f"{lefts + of_right} booleans, of which {of_right} are true",
            hint="leave it out for rows that alternate, left first",
        )
    return order
