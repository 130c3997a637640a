"""Lines that hold one JSON object each, taken apart.

Differs from a parser: whatever readers of JSON may take differently makes a line doubtful, such as a name
that comes twice, quotes of another kind, `NaN`, or half of a surrogate pair. Names are compared byte by byte;
values of other names are checked and passed over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.slicing.kernels.tokens import (
    BACKSLASH,
    BLANK,
    ESCAPED,
    FALSE,
    MINUS,
    NINE,
    NULL,
    QUOTE,
    TAB,
    TEXT,
    TRUE,
    ZERO,
    Tokens,
    is_utf8,
    number_end,
)

Bytes = NDArray[np.uint8]
OPEN, CLOSE, COLON, COMMA = 0x7B, 0x7D, 0x3A, 0x2C
OPEN_LIST, CLOSE_LIST = 0x5B, 0x5D
DEEPEST = 60
NESTED, ABSENT = 7, 255


@inner_borrowing_kernel
def _skip_blanks(text: Bytes, at: int, stop: int) -> int:
    while at < stop and (text[at] == BLANK or text[at] == TAB):
        at += 1
    return at


@inner_borrowing_kernel
def hex_value(text: Bytes, at: int) -> int:
    """For four hexadecimal digits; -1 if they are not."""
    value = 0
    for i in range(at, at + 4):
        digit = text[i]
        letter = digit | 0x20
        if ZERO <= digit <= NINE:
            value = value * 16 + digit - ZERO
        elif 0x61 <= letter <= 0x66:
            value = value * 16 + letter - 0x61 + 10
        else:
            return -1
    return value


@inner_borrowing_kernel
def _text_end(text: Bytes, at: int, stop: int) -> tuple[int, int]:
    """The closing quote of a text whose first byte is here, and its kind; -1 if it is in doubt."""
    kind = TEXT
    while at < stop:
        one = text[at]
        if one == QUOTE:
            return at, kind
        if one < BLANK:
            return -1, NULL
        at += 1
        if one != BACKSLASH:
            continue
        kind = ESCAPED
        if at >= stop:
            return -1, NULL
        one = text[at]
        at += 1
        # " \ / b f n r t
        if one in (0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74):
            continue
        if one != 0x75 or at + 4 > stop:  # u
            return -1, NULL
        unit = hex_value(text, at)
        at += 4
        if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
            return -1, NULL
        if 0xD800 <= unit <= 0xDBFF:
            if at + 6 > stop or text[at] != BACKSLASH or text[at + 1] != 0x75:
                return -1, NULL
            unit = hex_value(text, at + 2)
            if not 0xDC00 <= unit <= 0xDFFF:
                return -1, NULL
            at += 6
    return -1, NULL


@inner_borrowing_kernel
def _is_word(text: Bytes, at: int, stop: int, word: int, size: int) -> bool:
    """Whether these bytes, the first one lowest, stand here."""
    if at + size > stop:
        return False
    same = True
    for i in range(size):
        same = same and text[at + i] == (word >> (8 * i)) & 0xFF
    return same


@inner_borrowing_kernel
def _scalar_end(text: Bytes, at: int, stop: int) -> tuple[int, int]:
    """Behind a value that begins here and is no object or list, and its kind; -1 if it is in doubt."""
    if at >= stop:
        return -1, NULL
    one = text[at]
    if one == QUOTE:
        end, kind = _text_end(text, at + 1, stop)
        return (end + 1 if end >= 0 else -1), kind
    if one == MINUS or ZERO <= one <= NINE:
        first = at + 1 if one == MINUS else at
        if first + 1 < stop and text[first] == ZERO and ZERO <= text[first + 1] <= NINE:
            return -1, NULL
        return number_end(text, at, stop)
    if _is_word(text, at, stop, 0x6C6C756E, 4):  # null
        return at + 4, NULL
    if _is_word(text, at, stop, 0x65757274, 4):  # true
        return at + 4, TRUE
    if _is_word(text, at, stop, 0x65736C6166, 5):  # false
        return at + 5, FALSE
    return -1, NULL


@inner_borrowing_kernel
def _nested_end(text: Bytes, at: int, stop: int) -> int:
    """Behind an object or list that begins here; -1 if it is in doubt."""
    inside, depth = 0, 0  # of each level, the lowest bit for the innermost: 1 for an object
    wants_value = True
    while True:
        at = _skip_blanks(text, at, stop)
        if at >= stop:
            return -1
        one = text[at]
        if wants_value and one in (OPEN, OPEN_LIST):
            if depth == DEEPEST:
                return -1
            inside, depth = (inside << 1) | (1 if one == OPEN else 0), depth + 1
            at = _skip_blanks(text, at + 1, stop)
            if at < stop and text[at] == (CLOSE if one == OPEN else CLOSE_LIST):
                wants_value = False
                continue
            if one == OPEN:
                at = _name_end(text, at, stop)
                if at < 0:
                    return -1
            continue
        if wants_value:
            at, _ = _scalar_end(text, at, stop)
            if at < 0:
                return -1
            wants_value = False
            continue
        if one == COMMA:
            at = _skip_blanks(text, at + 1, stop)
            if inside & 1:
                at = _name_end(text, at, stop)
                if at < 0:
                    return -1
            wants_value = True
        elif one == (CLOSE if inside & 1 else CLOSE_LIST):
            at += 1
            inside, depth = inside >> 1, depth - 1
            if depth == 0:
                return at
        else:
            return -1


@inner_borrowing_kernel
def _name_end(text: Bytes, at: int, stop: int) -> int:
    """Behind the colon of a name that begins here; -1 if it is in doubt."""
    if at >= stop or text[at] != QUOTE:
        return -1
    at, _ = _text_end(text, at + 1, stop)
    if at < 0:
        return -1
    at = _skip_blanks(text, at + 1, stop)
    return at + 1 if at < stop and text[at] == COLON else -1


@inner_borrowing_kernel
def _column(text: Bytes, at: int, stop: int, names: Bytes, ends: NDArray[np.int64], first: int) -> int:
    """The column of this name, or -1. Looked for from `first` on: names mostly come in one order."""
    count = len(ends)
    for i in range(count):
        column = first + i
        if column >= count:
            column -= count
        begin = ends[column - 1] if column > 0 else 0
        if ends[column] - begin != stop - at:
            continue
        same = True
        for j in range(stop - at):
            if names[begin + j] != text[at + j]:
                same = False
                break
        if same:
            return column
    return -1


@inner_borrowing_kernel
def _take_apart(
    text: Bytes, at: int, stop: int, names: Bytes, ends: NDArray[np.int64], line: int, tokens: Tokens
) -> bool:
    """Whether the line is beyond doubt."""
    at = _skip_blanks(text, at, stop)
    if at >= stop or text[at] != OPEN:
        return False
    at = _skip_blanks(text, at + 1, stop)
    if at < stop and text[at] == CLOSE:
        return _skip_blanks(text, at + 1, stop) == stop
    expected = 0
    while True:
        if at >= stop or text[at] != QUOTE:
            return False
        begin = at + 1
        end, kind = _text_end(text, begin, stop)
        if end < 0 or kind == ESCAPED:
            return False
        column = _column(text, begin, end, names, ends, expected)
        at = _skip_blanks(text, end + 1, stop)
        if at >= stop or text[at] != COLON:
            return False
        begin = _skip_blanks(text, at + 1, stop)
        if begin < stop and (text[begin] == OPEN or text[begin] == OPEN_LIST):
            at, kind = _nested_end(text, begin, stop), NESTED
        else:
            at, kind = _scalar_end(text, begin, stop)
        if at < 0:
            return False
        if column >= 0:
            if tokens.kinds[column, line] != ABSENT or kind == NESTED:
                return False
            quoted = 1 if kind in (TEXT, ESCAPED) else 0
            tokens.kinds[column, line] = kind
            tokens.starts[column, line] = begin + quoted
            tokens.stops[column, line] = at - quoted
            expected = column + 1 if column + 1 < len(ends) else 0
        at = _skip_blanks(text, at, stop)
        if at >= stop:
            return False
        if text[at] == CLOSE:
            return _skip_blanks(text, at + 1, stop) == stop
        if text[at] != COMMA:
            return False
        at = _skip_blanks(text, at + 1, stop)


@borrowing_kernel
def take_apart_json(
    text: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    names: Bytes,
    ends: NDArray[np.int64],
    plain: bool,
    tokens: Tokens,
) -> None:
    """`starts`, `stops`: of lines. `names`: of the columns, one after the other up to its entry in `ends`.
    `plain`: the text is ASCII."""
    for line in range(len(starts)):
        for column in range(len(ends)):
            tokens.kinds[column, line] = ABSENT
        fine = plain or is_utf8(text, starts[line], stops[line])
        fine = fine and _take_apart(text, starts[line], stops[line], names, ends, line, tokens)
        tokens.doubtful[line] = not fine
        for column in range(len(ends)):
            if tokens.kinds[column, line] == ABSENT or not fine:
                tokens.kinds[column, line] = NULL
