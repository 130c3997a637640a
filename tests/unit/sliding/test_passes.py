"""However many partners a row has, rows that wait look through the window four at a time.

A pass that is given up for want of room would be made again for each of its rows alone: that was a scan at
less than half its rate above 512 matches for a row.
"""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.sliding import Window
from dovetail.sliding.driver import Driver
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.kang import Kang
from dovetail.sliding.kernels.scan import TOGETHER
from dovetail.sliding.kernels.together import COUNT, COUNTS_AT, FIRST_FOUND, ROWS_AT
from dovetail.sliding.stepping import FIRST_FOUND as FIRST_ROOM
from dovetail.sliding.topology import SlidingJob

COLUMN = {"x": np.dtype(np.int32)}
WAITING = 8
NEW = np.arange(WAITING)


def last_pass(matches: int) -> tuple[list[int], list[int]]:
    """Left rows of one key, then right rows that all wait: which of these were in the last pass, and how many
    rows each of them found in it."""
    encoding = Encoding(parsed("left.x == right.x"), COLUMN, COLUMN, "scan")
    job = SlidingJob(
        encoding, Window(rows=1 << 13), Window(rows=1 << 13), inbox_rows=1 << 13, outbox_pairs=1 << 16
    )
    join, driver = Kang(job), Driver(job, wants_first=False)
    rows = [
        encoding.messages(side, {"x": np.ones(count, np.int32)}, None, count)
        for side, count in (("left", matches), ("right", WAITING))
    ]
    messages = np.concatenate(rows)
    driver.number(messages, np.arange(len(messages)))
    assert join.offer(messages, 0) == len(messages)
    (core,) = join.cores
    while not join.settled():
        core.step(1 << 20)
    pairs = np.zeros((1 << 16, 8), np.int64)
    assert join.take_pairs(pairs) == matches * WAITING
    made = core.core.pass_s.state
    return made[ROWS_AT : ROWS_AT + made[COUNT]].tolist(), made[COUNTS_AT : COUNTS_AT + made[COUNT]].tolist()


@pytest.mark.parametrize("matches", [100, FIRST_FOUND, FIRST_FOUND + 1, 4 * FIRST_FOUND + 1, FIRST_ROOM + 1])
def test_the_last_rows_were_in_one_pass(matches: int) -> None:
    rows, found = last_pass(matches)
    assert rows == NEW[-TOGETHER:].tolist()
    assert found == [matches] * TOGETHER
