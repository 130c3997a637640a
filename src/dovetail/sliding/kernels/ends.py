"""The driver of a chain of cores: feeds R into its left end and S into its right one, and says at the
opposite ends what has expired (handshake join, 4.4, Figure 12).

Law: a row enters its end before anything is said to have expired that it may meet, and what is said is true
for all rows that enter later.

An expiry names the oldest row that is left, or the oldest time: the core where rows end compares. Rows that
can meet nobody do not enter. Where cores merge sorted blocks, rows are gathered here until either side has a
block full, and sorted; then both sides' blocks go, so that neither waits for the other, and only then is
anything expired.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.flags import inner_kernel, kernel
from dovetail.sliding.kernels.channel import Channel, room, send, slot_to_fill
from dovetail.sliding.kernels.layout import BLANK, FLAGS, KIND, ROW, TIME, R, S
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.kernels.subwindow import Words

# Kinds of messages beside R and S: a row has arrived; rows have expired.
ACKNOWLEDGED, EXPIRED = 4, 5

STAGE, ENDED = 0, 1
GATHERED, ENTERED = 2, 4  # of each side: rows in the block that is being gathered; rows that entered
OLDEST_ROW, OLDEST_TIME = 6, 8  # of each side: what has expired is older
SAID_ROW, SAID_TIME = 10, 12
NEXT_ROW = 14  # of each side: the number after that of the newest row, also if it did not enter
ENDS_WORDS = 16

GATHERING, SEND_R, SEND_S, EXPIRE_S, EXPIRE_R = 0, 1, 2, 3, 4
ALL_ROWS = 2**62
_BEFORE_ALL = -(2**63)


class Ends(NamedTuple):
    blocks: Words  # one a side: its rows, one after the other
    sorting: Words  # room for another
    state: Words


def ends(words: int, block_rows: int) -> Ends:
    state = np.zeros(ENDS_WORDS, np.int64)
    state[OLDEST_TIME : OLDEST_TIME + 2] = state[SAID_TIME : SAID_TIME + 2] = _BEFORE_ALL
    return Ends(np.zeros((2, block_rows * words), np.int64), np.zeros(block_rows * words, np.int64), state)


@kernel
def feed(ends: Ends, messages: Words, first: int, left: Channel, right: Channel, rules: Rules) -> int:
    """Take rows from `messages[first:]` while there is room; how many."""
    state, words, taken = ends.state, rules.layout.words, 0
    while push(ends, left, right, rules) and first + taken < messages.shape[0]:
        row = messages[first + taken]
        taken += 1
        side = row[KIND]
        state[NEXT_ROW + side] = row[ROW] + 1
        _note_time(state, row, rules)
        if row[FLAGS] & BLANK:
            continue
        at = state[GATHERED + side] * words
        for word in range(words):
            ends.blocks[side, at + word] = row[word]
        state[GATHERED + side] += 1
        state[ENTERED + side] += 1
        if state[GATHERED + side] == rules.block_rows:
            close_blocks(ends, rules)
    return taken


@inner_kernel
def _note_time(state: Words, row: Words, rules: Rules) -> None:
    """What no later row can see."""
    if row[KIND] == R and rules.rows_r >= 0:
        state[OLDEST_ROW + R] = row[ROW] + 1 - rules.rows_r
    if row[KIND] == S and rules.rows_s >= 0:
        state[OLDEST_ROW + S] = row[ROW] + 1 - rules.rows_s
    if rules.time_r >= 0:
        state[OLDEST_TIME + R] = row[TIME] - rules.time_r
    if rules.time_s >= 0:
        state[OLDEST_TIME + S] = row[TIME] - rules.time_s


@kernel
def close_blocks(ends: Ends, rules: Rules) -> None:
    """No more rows into these blocks: they are sorted and sent."""
    if rules.block_rows > 1:
        for side in range(2):
            _sort(ends, side, rules)
    ends.state[STAGE] = SEND_R


@inner_kernel
def _sort(ends: Ends, side: int, rules: Rules) -> None:
    """By the first key, which is unsigned."""
    words, rows = rules.layout.words, ends.state[GATHERED + side]
    block = ends.blocks[side]
    keys = np.empty(rows, np.uint64)
    for n in range(rows):
        keys[n] = np.uint64(block[n * words + rules.layout.keys_at])
    order = np.argsort(keys)
    for n in range(rows):
        for word in range(words):
            ends.sorting[n * words + word] = block[order[n] * words + word]
    block[: rows * words] = ends.sorting[: rows * words]


@kernel
def push(ends: Ends, left: Channel, right: Channel, rules: Rules) -> bool:
    """Send what is due, as far as there is room; whether all of it is out."""
    state = ends.state
    while state[STAGE] != GATHERING:
        stage = state[STAGE]
        side = R if stage in (SEND_R, EXPIRE_R) else S
        if stage <= SEND_S:
            sent = _send_block(ends, side, left if side == R else right, rules)
        else:  # at the other end
            sent = _say_expired(state, side, right if side == R else left)
        if not sent:
            return False
        state[STAGE] = stage + 1 if stage != EXPIRE_R else GATHERING
    return True


@inner_kernel
def _send_block(ends: Ends, side: int, to: Channel, rules: Rules) -> bool:
    rows, words = ends.state[GATHERED + side], rules.layout.words
    if rows == 0:
        return True
    if room(to) == 0:
        return False
    item = slot_to_fill(to, 0)
    for word in range(rows * words):
        item[word] = ends.blocks[side, word]
    item[rules.block_rows * words] = rows
    send(to, 1)
    ends.state[GATHERED + side] = 0
    return True


@inner_kernel
def _say_expired(state: Words, side: int, to: Channel) -> bool:
    row, time = state[OLDEST_ROW + side], state[OLDEST_TIME + side]
    if row <= state[SAID_ROW + side] and time <= state[SAID_TIME + side]:
        return True
    if room(to) == 0:
        return False
    item = slot_to_fill(to, 0)
    item[KIND], item[ROW], item[TIME] = EXPIRED, row, time
    send(to, 1)
    state[SAID_ROW + side], state[SAID_TIME + side] = row, time
    return True


@kernel
def end(ends: Ends, rules: Rules) -> None:
    """No more rows come: what was gathered goes, and everything expires."""
    state = ends.state
    state[OLDEST_ROW + R] = state[OLDEST_ROW + S] = ALL_ROWS
    state[ENDED] = 1
    close_blocks(ends, rules)
