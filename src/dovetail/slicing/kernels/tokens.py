"""What the kernels of JSON and CSV lines share: kinds of values, and bytes that a plain line may hold.

A kernel takes a line apart only if nothing about it is in doubt (`text_lines.py`). It leaves three matrices,
a row for each column and an entry for each line: where its value begins and ends, and of which kind it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import inner_borrowing_kernel

NULL, TEXT, ESCAPED, WHOLE, REAL, TRUE, FALSE = range(7)
"""Kinds of values. `ESCAPED` is a JSON text with backslashes, `REAL` a number with a fraction or exponent."""
LONGEST_NUMBER = 100
"""Readers of JSON refuse numbers of very many digits; one this long is in doubt."""
BLANK, TAB, QUOTE, BACKSLASH = 0x20, 0x09, 0x22, 0x5C
MINUS, PLUS, POINT, ZERO, NINE = 0x2D, 0x2B, 0x2E, 0x30, 0x39


class Tokens(NamedTuple):
    """`starts`, `stops`, `kinds`: see above. `doubtful`: for each line."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    doubtful: NDArray[np.bool_]


def no_tokens(columns: int, lines: int) -> Tokens:
    shape = columns, lines
    return Tokens(
        np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.uint8), np.zeros(lines, bool)
    )


@inner_borrowing_kernel
def is_utf8(text: NDArray[np.uint8], at: int, stop: int) -> bool:
    """As the Unicode standard has it: no overlong forms, no surrogates."""
    while at < stop:
        lead = text[at]
        if lead < 0x80:
            at += 1
            continue
        if 0xC2 <= lead <= 0xDF:
            more, low, high = 1, 0x80, 0xBF
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            low = 0xA0 if lead == 0xE0 else 0x80
            high = 0x9F if lead == 0xED else 0xBF
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            low = 0x90 if lead == 0xF0 else 0x80
            high = 0x8F if lead == 0xF4 else 0xBF
        else:
            return False
        if at + more >= stop or not low <= text[at + 1] <= high:
            return False
        for then in range(at + 2, at + more + 1):
            if not 0x80 <= text[then] <= 0xBF:
                return False
        at += more + 1
    return True


@inner_borrowing_kernel
def digits_end(text: NDArray[np.uint8], at: int, stop: int) -> int:
    while at < stop and ZERO <= text[at] <= NINE:
        at += 1
    return at


@inner_borrowing_kernel
def number_end(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Where the number ends that begins here, and its kind; -1 where there is none, or one that readers may
    take differently: `-0` as a whole number, or an exponent out of every range."""
    begin = at
    if at < stop and text[at] == MINUS:
        at += 1
    whole = digits_end(text, at, stop)
    if whole == at:
        return -1, NULL
    negative_zero = at > begin and whole == at + 1 and text[at] == ZERO
    at = whole
    kind = WHOLE
    if at < stop and text[at] == POINT:
        kind = REAL
        after = digits_end(text, at + 1, stop)
        if after == at + 1:
            return -1, NULL
        at = after
    if at < stop and (text[at] | 0x20) == 0x65:  # e, E
        kind = REAL
        at += 1
        if at < stop and (text[at] == PLUS or text[at] == MINUS):
            at += 1
        after = digits_end(text, at, stop)
        if after == at or after - at > 2:
            return -1, NULL
        at = after
    if at - begin > LONGEST_NUMBER or (kind == WHOLE and negative_zero):
        return -1, NULL
    return at, kind
