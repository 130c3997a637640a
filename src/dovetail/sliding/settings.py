"""What a sliding-window join can be asked for, checked before anything runs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dovetail.errors import SettingError
from dovetail.model.sliding import MOST_ROWS, Window
from dovetail.sliding.designs import DESIGNS
from dovetail.sliding.kernels.join_core import MOST_CORES
from dovetail.sliding.topology import BASIC_ROWS, BATCH_ROWS
from dovetail.sliding.units import check_alike, counted

_ORDERED = ("kang", "split")

MOST_CUT_ROWS = 1 << 20
MOST_BLOCK_ROWS = 4096
"""Rows of a block travel together: a larger one than an inbox holds would never leave."""


def check_design(design: str, cores: int, order: str) -> None:
    if design not in tuple(DESIGNS):  # what is not even a name is none of them
        raise SettingError(
            f"there is no design {design!r}",
            where="design",
            expected=", ".join(DESIGNS),
            hint="split is the fastest",
        )
    most = 1 if design == "kang" else MOST_CORES
    if not is_count(cores, most=most):
        raise SettingError(
            f"{design} cannot have {cores} cores",
            where="cores",
            expected=f"1 to {most}" if most > 1 else "1",
            hint="as many as the machine has to spare",
        )
    if order not in ("none", "outer", "inner") or (order != "none" and design not in _ORDERED):
        raise SettingError(
            f"results of {design} cannot be ordered: {order}",
            where="order",
            expected="none, outer or inner, with split",
            hint='design="split"',
        )


def check_blocks(design: str, block_rows: int) -> None:
    if not is_count(block_rows, most=MOST_BLOCK_ROWS) or (block_rows > 1 and design != "handshake"):
        raise SettingError(
            f"{design} cannot merge blocks of {block_rows} rows",
            where="block_rows",
            expected=f"1, or up to {MOST_BLOCK_ROWS:,} with handshake",
            hint='design="handshake"; 128 is the size in the paper',
        )


def check_cuts(design: str, deal_rows: int, batch_rows: int, basic_rows: int) -> None:
    """How rows and windows are cut into pieces, where a design does that."""
    for name, value, usual, of in (
        ("deal_rows", deal_rows, 1, "split"),
        ("batch_rows", batch_rows, BATCH_ROWS, "cell"),
        ("basic_rows", basic_rows, BASIC_ROWS, "cell"),
    ):
        if not is_count(value, most=MOST_CUT_ROWS) or (value != usual and design != of):
            raise SettingError(
                f"{design} cannot have {name} = {value!r}",
                where=name,
                expected=f"a whole number from 1 to {MOST_CUT_ROWS:,}, with {of}",
                hint=f'leave it out, or design="{of}"',
            )


def check_punctuation(order: str, every: int, group: int, hold_rows_per_s: float | None) -> None:
    if not (is_count(every) and is_count(group)) or (every > 1 and order == "inner"):
        raise SettingError(
            "every and group count rows from 1, and order inner punctuates every row",
            where=f"every={every}, group={group}, order={order!r}",
            expected="1 or more; every = 1 with inner",
            hint="every=100 with order outer punctuates each 100 rows",
        )
    if hold_rows_per_s is None:
        return
    number = isinstance(hold_rows_per_s, int | float) and not isinstance(hold_rows_per_s, bool)
    if not number or not 0 < hold_rows_per_s <= MOST_ROWS:  # NaN is neither
        raise SettingError(
            f"{hold_rows_per_s!r} rows per second cannot be held",
            where="hold_rows_per_s",
            expected=f"a number above 0, up to {MOST_ROWS}",
            hint="hold_rows_per_s=50_000",
        )
    if order == "none":
        raise SettingError(
            "hold_rows_per_s changes how often results are punctuated, and these are not",
            where=f"hold_rows_per_s={hold_rows_per_s}, order={order!r}",
            expected='order="outer" or "inner"',
            hint="leave hold_rows_per_s out, or order the results",
        )


def check_most_pending(most_pending: int) -> None:
    if not is_count(most_pending):
        raise SettingError(
            f"most_pending cannot be {most_pending!r}",
            where="most_pending",
            expected="a number of results, from 1 on",
            hint="leave it out for 50 million",
        )


def check_windows(
    left: Any, right: Any, time: str | None, schemas: dict[str, pa.Schema]
) -> tuple[Window, Window]:
    if not (isinstance(left, Window) and isinstance(right, Window)):
        raise SettingError(
            "a sliding-window join needs a window",
            where="window",
            expected="window=Window(...), or left_window and right_window",
            hint="Window(rows=1_000_000) or Window(time=600)",
        )
    if (left.time, right.time) != (None, None) and time is None:
        raise SettingError(
            "a window by time needs to know which column is the time",
            where="time",
            expected="the name of a column that both streams have",
            hint='time="t", in the unit of the window',
        )
    if time is not None:
        for side, schema in schemas.items():
            kind = schema.field(time).type if time in schema.names else None
            if kind is None or not (pa.types.is_integer(kind) or counted(kind)):
                raise SettingError(
                    f"the {side} stream has no time column {time}"
                    if kind is None
                    else f"{side}.{time} is of type {kind}, which is not a time",
                    where=f"time={time!r}",
                    expected="a column of integers, dates or timestamps that both streams have",
                    hint=f"the {side} stream has {', '.join(schema.names)}",
                )
        check_alike({f"{side}.{time}": schema.field(time).type for side, schema in schemas.items()}, "time")
    return left, right


def is_count(value: Any, most: int = MOST_ROWS) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
