"""Values from the bytes of their tokens. A line whose value is not beyond doubt becomes doubtful.

Law: where a line does not become doubtful, the value is the one that Spark reads, in JSON as in CSV."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.slicing.kernels.json_lines import hex_value
from dovetail.slicing.kernels.tokens import (
    BACKSLASH,
    ESCAPED,
    FALSE,
    MINUS,
    NINE,
    NULL,
    PLUS,
    POINT,
    REAL,
    TEXT,
    TRUE,
    WHOLE,
    ZERO,
    digits_end,
    number_end,
)

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Kinds = NDArray[np.uint8]
Flags = NDArray[np.bool_]
MOST_DIGITS = 18
"""For a whole number that surely fits."""
EXACT_DIGITS, EXACT_POWER = 15, 22
"""A number of so few digits, times or by so small a power of ten, is one correctly rounded operation on two
doubles that are exact (Clinger, How to Read Floating Point Numbers Accurately, 1990, section 4)."""
POWERS = 10.0 ** np.arange(EXACT_POWER + 1)
SECOND_US = 1_000_000
FURTHEST_S = 10**12


@inner_borrowing_kernel
def _whole(text: Bytes, at: int, stop: int) -> int:
    negative = text[at] == MINUS
    value = 0
    for i in range(at + 1 if negative else at, stop):
        value = value * 10 + int(text[i]) - ZERO
    return -value if negative else value


@borrowing_kernel
def mark_numbers(text: Bytes, starts: Places, stops: Places, kinds: Kinds) -> None:
    """Fields of CSV that are numbers get their kind. Others stay text."""
    for i in range(len(kinds)):
        if kinds[i] == TEXT:
            end, kind = number_end(text, starts[i], stops[i])
            if end == stops[i]:
                kinds[i] = kind


@borrowing_kernel
def mark_words(text: Bytes, starts: Places, stops: Places, kinds: Kinds) -> None:
    """The same for `true` and `false`."""
    for i in range(len(kinds)):
        if kinds[i] != TEXT:
            continue
        at, size = starts[i], stops[i] - starts[i]
        word = 0
        if size <= 5:
            for j in range(size):
                word |= int(text[at + j]) << (8 * j)
        if word == 0x65757274:
            kinds[i] = TRUE
        elif word == 0x65736C6166:
            kinds[i] = FALSE


@borrowing_kernel
def whole_numbers(
    text: Bytes,
    starts: Places,
    stops: Places,
    kinds: Kinds,
    least: int,
    most: int,
    values: NDArray[np.int64],
    doubtful: Flags,
) -> None:
    for i in range(len(kinds)):
        values[i] = 0
        if kinds[i] == NULL:
            continue
        if kinds[i] != WHOLE or stops[i] - starts[i] > MOST_DIGITS:
            doubtful[i] = True
            continue
        value = _whole(text, starts[i], stops[i])
        values[i] = value
        if not least <= value <= most:
            doubtful[i] = True


@borrowing_kernel
def reals(
    text: Bytes,
    starts: Places,
    stops: Places,
    kinds: Kinds,
    values: NDArray[np.float64],
    left_over: Flags,
    doubtful: Flags,
) -> None:
    """`left_over`: numbers with too many digits for this, to be read with more care."""
    for i in range(len(kinds)):
        values[i] = 0.0
        if kinds[i] == NULL:
            continue
        if kinds[i] != WHOLE and kinds[i] != REAL:
            doubtful[i] = True
            continue
        at, stop = starts[i], stops[i]
        negative = text[at] == MINUS
        at += 1 if negative else 0
        digits, power, mantissa = 0, 0, 0
        fraction = False
        while at < stop and (text[at] == POINT or ZERO <= text[at] <= NINE):
            if text[at] == POINT:
                fraction = True
            else:
                if digits > 0 or text[at] != ZERO:
                    digits += 1
                if digits <= EXACT_DIGITS:
                    mantissa = mantissa * 10 + int(text[at]) - ZERO
                power -= 1 if fraction else 0
            at += 1
        if at < stop:  # e, and perhaps a sign
            at += 1
            down = text[at] == MINUS
            if down or text[at] == PLUS:
                at += 1
            exponent = _whole(text, at, stop)
            power += -exponent if down else exponent
        if digits > EXACT_DIGITS or not -EXACT_POWER <= power <= EXACT_POWER:
            left_over[i] = True
            continue
        value = np.float64(mantissa)
        value = value * POWERS[power] if power >= 0 else value / POWERS[-power]
        values[i] = -value if negative else value


@inner_borrowing_kernel
def _two(text: Bytes, at: int) -> int:
    """A number of two digits; far below zero if they are not."""
    one, other = text[at], text[at + 1]
    if not (ZERO <= one <= NINE and ZERO <= other <= NINE):
        return -100_000
    return (int(one) - ZERO) * 10 + int(other) - ZERO


@inner_borrowing_kernel
def _day(text: Bytes, at: int) -> int:
    """Days since 1970 of `YYYY-MM-DD`; -1 << 40 if it is none of the years 1 to 9999."""
    none = -1 << 40
    if text[at + 4] != MINUS or text[at + 7] != MINUS:
        return none
    year = _two(text, at) * 100 + _two(text, at + 2)
    month, day = _two(text, at + 5), _two(text, at + 8)
    if year < 1 or not 1 <= month <= 12 or day < 1:
        return none
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    february = 29 if leap else 28
    longest = february if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if day > longest:
        return none
    # Years from March on, in eras of 400 years (Hinnant, chrono-compatible date algorithms).
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@borrowing_kernel
def days(
    text: Bytes, starts: Places, stops: Places, kinds: Kinds, values: NDArray[np.int32], doubtful: Flags
) -> None:
    for i in range(len(kinds)):
        values[i] = 0
        if kinds[i] == NULL:
            continue
        if kinds[i] != TEXT or stops[i] - starts[i] != len("YYYY-MM-DD"):
            doubtful[i] = True
            continue
        day = _day(text, starts[i])
        if day == -1 << 40:
            doubtful[i] = True
        else:
            values[i] = day


@inner_borrowing_kernel
def _zone_s(text: Bytes, at: int, stop: int) -> int:
    """Seconds that a time with `Z`, `+HH:MM`, or nothing, is ahead of UTC; a million if it is in doubt."""
    if at == stop:
        return 0
    if stop - at == 1 and text[at] == 0x5A:
        return 0
    if stop - at != len("+HH:MM") or text[at + 3] != 0x3A or (text[at] != PLUS and text[at] != MINUS):
        return SECOND_US
    hours, minutes = _two(text, at + 1), _two(text, at + 4)
    if not 0 <= hours <= 14 or not 0 <= minutes <= 59:
        return SECOND_US
    ahead = (hours * 60 + minutes) * 60
    return -ahead if text[at] == MINUS else ahead


@borrowing_kernel
def moments(
    text: Bytes,
    starts: Places,
    stops: Places,
    kinds: Kinds,
    numbers: bool,
    values: NDArray[np.int64],
    doubtful: Flags,
) -> None:
    """Microseconds since 1970 of `YYYY-MM-DD`, then `T` or a blank, `HH:MM:SS`, up to six digits of a
    fraction and a zone; UTC without one. `numbers`: a whole number is seconds."""
    for i in range(len(kinds)):
        values[i] = 0
        if kinds[i] == NULL:
            continue
        at, stop = starts[i], stops[i]
        if numbers and kinds[i] == WHOLE and stop - at <= MOST_DIGITS:
            seconds = _whole(text, at, stop)
            values[i] = seconds * SECOND_US
            doubtful[i] |= not -FURTHEST_S <= seconds <= FURTHEST_S
            continue
        if kinds[i] != TEXT or stop - at < len("YYYY-MM-DDTHH:MM:SS"):
            doubtful[i] = True
            continue
        day = _day(text, at)
        hour, minute, second = _two(text, at + 11), _two(text, at + 14), _two(text, at + 17)
        parted = (text[at + 10] == 0x54 or text[at + 10] == 0x20) and text[at + 13] == text[at + 16] == 0x3A
        timed = 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59
        at += len("YYYY-MM-DDTHH:MM:SS")
        fraction = 0
        if at < stop and text[at] == POINT:
            after = digits_end(text, at + 1, stop)
            shown = after - at - 1
            if not 1 <= shown <= 6:
                timed = False
            else:
                fraction = _whole(text, at + 1, after)
                for _ in range(6 - shown):
                    fraction *= 10
            at = after
        zone_s = _zone_s(text, at, stop)
        if day == -1 << 40 or not parted or not timed or zone_s == SECOND_US:
            doubtful[i] = True
            continue
        seconds = day * 86_400 + (hour * 60 + minute) * 60 + second - zone_s
        values[i] = seconds * SECOND_US + fraction


@borrowing_kernel
def text_room(starts: Places, stops: Places, kinds: Kinds, doubtful: Flags) -> int:
    """Bytes that the texts need at most: what an escape stands for is never longer."""
    total = 0
    for i in range(len(kinds)):
        if kinds[i] == TEXT or kinds[i] == ESCAPED:
            total += stops[i] - starts[i]
        elif kinds[i] != NULL:
            doubtful[i] = True
    return total


@inner_borrowing_kernel
def _put(point: int, data: Bytes, at: int) -> int:
    """A character as UTF-8; where it ends."""
    if point < 0x80:
        data[at] = point
        return at + 1
    if point < 0x800:
        data[at] = 0xC0 | (point >> 6)
        data[at + 1] = 0x80 | (point & 0x3F)
        return at + 2
    if point < 0x10000:
        data[at] = 0xE0 | (point >> 12)
        data[at + 1] = 0x80 | ((point >> 6) & 0x3F)
        data[at + 2] = 0x80 | (point & 0x3F)
        return at + 3
    data[at] = 0xF0 | (point >> 18)
    data[at + 1] = 0x80 | ((point >> 12) & 0x3F)
    data[at + 2] = 0x80 | ((point >> 6) & 0x3F)
    data[at + 3] = 0x80 | (point & 0x3F)
    return at + 4


@inner_borrowing_kernel
def _unescaped(text: Bytes, at: int, stop: int, data: Bytes, to: int) -> int:
    while at < stop:
        if text[at] != BACKSLASH:
            data[to] = text[at]
            at, to = at + 1, to + 1
            continue
        mark = text[at + 1]
        at += 2
        if mark == 0x75:
            point = hex_value(text, at)
            at += 4
            if 0xD800 <= point <= 0xDBFF:  # the other half follows: the line was taken apart
                point = 0x10000 + ((point - 0xD800) << 10) + hex_value(text, at + 2) - 0xDC00
                at += 6
            to = _put(point, data, to)
            continue
        if mark == 0x62:
            mark = 0x08
        elif mark == 0x66:
            mark = 0x0C
        elif mark == 0x6E:
            mark = 0x0A
        elif mark == 0x72:
            mark = 0x0D
        elif mark == 0x74:
            mark = 0x09
        data[to] = mark
        to += 1
    return to


@borrowing_kernel
def text_bytes(
    text: Bytes, starts: Places, stops: Places, kinds: Kinds, offsets: NDArray[np.int32], data: Bytes
) -> None:
    """The texts one after the other, and where each begins and ends."""
    to = 0
    for i in range(len(kinds)):
        offsets[i] = to
        if kinds[i] == TEXT:
            for at in range(starts[i], stops[i]):
                data[to] = text[at]
                to += 1
        elif kinds[i] == ESCAPED:
            to = _unescaped(text, starts[i], stops[i], data, to)
    offsets[len(kinds)] = to
