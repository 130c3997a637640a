"""Flat JSON objects as columns.

Law: a value that is not marked as odd is one JSON object, and its fields are what a JSON parser reads. What
is odd is left to such a parser.

Most records of a topic look alike: one object, the same fields in the same order, numbers, literals and texts
without escapes. They are read in one pass without a tree. Everything else is odd, right or wrong: escapes,
nested values, numbers with an exponent or with very many digits, a field that comes twice, other spellings of
a time, a value of another type, text that is not JSON.

    data     {"id": 17, "user": "ann"}{"id": 18, "user": "bob"}
    words    id    17, 18            numbers, times and truth; reals by their bits
             user  19, 44            where the text begins in `data`
    sizes    user   3,  3
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.address import copy, load
from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel, kernel

Bytes = NDArray[np.uint8]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WHOLE, REAL, TEXT, TRUTH, ISO, SECONDS = range(6)
MOST_FIELDS = 63
_ODD = -1
_QUOTE, _ESCAPE, _SPACE, _LINE, _TAB, _RETURN = b'"\\ \n\t\r'
_OPEN, _CLOSE, _COLON, _COMMA = b"{}:,"
_ZERO, _MINUS, _DOT, _E, _CAPITAL_E, _T, _Z, _F = b"0-.eETZf"
_NULL, _TRUE, _ALSE = (np.uint32(int.from_bytes(word, sys.byteorder)) for word in (b"null", b"true", b"alse"))
_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _ESCAPES, _SPACES = _ONES * np.uint64(34), _ONES * np.uint64(92), _ONES * np.uint64(32)
_EXACT = 1 << 53
_POWERS = np.array([10.0**n for n in range(23)])
_US = 1_000_000
_FURTHEST_S = 9.0e12


class JsonFields(NamedTuple):
    """`names` ends at `ends`. `least`, `most`: of a whole number as it is written; `scale`: what it is
    multiplied by."""

    names: Bytes
    ends: Int64s
    kinds: NDArray[np.int8]
    least: Int64s
    most: Int64s
    scale: Int64s


class JsonColumns(NamedTuple):
    """A row for each field. `reals` is the memory of `words`. No text and nothing is given before parsing."""

    words: NDArray[np.int64]
    reals: NDArray[np.float64]
    sizes: NDArray[np.int32]
    given: NDArray[np.bool_]


@borrowing_kernel
def parse(
    data: int, ends: Int32s, present: Bools, fields: JsonFields, columns: JsonColumns, odd: Bools
) -> None:
    """Values that follow each other at an address. One that is not present is an object without fields."""
    for i in range(len(odd)):
        odd[i] = present[i] and not _object(data, ends[i], ends[i + 1], fields, columns, i)


@kernel
def text_ends(sizes: Int32s, odd: Bools, ends: Int32s) -> int:
    """Where each text ends in a buffer of all of them. Odd rows have none."""
    ends[0] = 0
    for i in range(len(sizes)):
        ends[i + 1] = ends[i] + (0 if odd[i] else sizes[i])
    return int(ends[-1])


@kernel
def texts(data: int, starts: Int64s, ends: Int32s, buffer: int) -> None:
    for i in range(len(starts)):
        if ends[i + 1] > ends[i]:
            copy(buffer + ends[i], data + starts[i], np.int64(ends[i + 1] - ends[i]))


@inner_borrowing_kernel
def _object(data: int, at: int, end: int, fields: JsonFields, columns: JsonColumns, row: int) -> bool:
    at = _space(data, at, end)
    if at >= end or _byte(data + at) != _OPEN:
        return False
    at = _space(data, at + 1, end)
    if at < end and _byte(data + at) == _CLOSE:
        return _space(data, at + 1, end) == end
    seen, guess = np.int64(0), 0
    while True:
        name = at + 1
        at = _quoted(data, at, end)
        if at < 0:
            return False
        field = _named(data, name, at - 1, fields, guess)
        at = _space(data, at, end)
        if at >= end or _byte(data + at) != _COLON:
            return False
        at = _space(data, at + 1, end)
        if at >= end:
            return False
        if field < 0:
            at = _passed(data, at, end)
        else:
            if seen & (np.int64(1) << field):
                return False
            seen |= np.int64(1) << field
            guess = field + 1
            at = _value(data, at, end, fields, field, columns, row)
        if at < 0:
            return False
        at = _space(data, at, end)
        if at >= end:
            return False
        if _byte(data + at) == _CLOSE:
            return _space(data, at + 1, end) == end
        if _byte(data + at) != _COMMA:
            return False
        at = _space(data, at + 1, end)


@inner_borrowing_kernel
def _named(data: int, start: int, stop: int, fields: JsonFields, guess: int) -> int:
    """The field of this name, -1 if there is none. The guessed one is looked at first."""
    count = len(fields.kinds)
    for n in range(count):
        field = guess + n
        if field >= count:
            field -= count
        first = fields.ends[field]
        if fields.ends[field + 1] - first != stop - start:
            continue
        same = True
        for k in range(stop - start):
            if _byte(data + start + k) != fields.names[first + k]:
                same = False
                break
        if same:
            return field
    return -1


@inner_borrowing_kernel
def _value(
    data: int, at: int, end: int, fields: JsonFields, field: int, columns: JsonColumns, row: int
) -> int:
    """Behind the value of a field."""
    kind = fields.kinds[field]
    after = _literal(data, at, end, _NULL)
    if after > 0:
        return after
    columns.given[field, row] = True
    if kind in (TEXT, ISO):
        stop = _quoted(data, at, end)
        if stop < 0:
            return _ODD
        if kind == TEXT:
            columns.words[field, row] = at + 1
            columns.sizes[field, row] = stop - at - 2
            return stop
        good, micros = _moment(data, at + 1, stop - 1)
        columns.words[field, row] = micros
        return stop if good else _ODD
    if kind == TRUTH:
        after = _literal(data, at, end, _TRUE)
        columns.words[field, row] = after > 0
        return after if after > 0 else _false(data, at, end)
    digits, stop, places = _number(data, at, end)
    if stop < 0:
        return _ODD
    if kind == WHOLE:
        if places >= 0 or digits < fields.least[field] or digits > fields.most[field]:
            return _ODD
        columns.words[field, row] = digits * fields.scale[field]
        return stop
    if digits == 0 and _byte(data + at) == _MINUS:
        return _ODD  # a zero with a sign
    if digits >= _EXACT or digits <= -_EXACT:
        return _ODD
    real = np.float64(digits)
    if places > 0:
        real /= _POWERS[places]  # both are exact, so the quotient is the nearest number there is
    if kind == REAL:
        columns.reals[field, row] = real
        return stop
    if abs(real) > _FURTHEST_S:
        return _ODD
    columns.words[field, row] = np.int64(np.rint(real * 1e6))
    return stop


@inner_borrowing_kernel
def _passed(data: int, at: int, end: int) -> int:
    """Behind a value that nobody asked for."""
    if _byte(data + at) == _QUOTE:
        return _quoted(data, at, end)
    for word in (_NULL, _TRUE):
        after = _literal(data, at, end, word)
        if after > 0:
            return after
    after = _false(data, at, end)
    if after > 0:
        return after
    _, stop, _ = _number(data, at, end)
    return stop


@inner_borrowing_kernel
def _space(data: int, at: int, end: int) -> int:
    while at < end and _byte(data + at) in (_SPACE, _LINE, _TAB, _RETURN):
        at += 1
    return at


@inner_borrowing_kernel
def _quoted(data: int, at: int, end: int) -> int:
    """Behind the text in quotes that begins here."""
    if at >= end or _byte(data + at) != _QUOTE:
        return _ODD
    at += 1
    while at < end:
        if at + 8 <= end:  # eight bytes at once, if none of them is a quote, an escape or a control
            word = load(data + at, np.uint64(0))
            if not (_has(word, _QUOTES) | _has(word, _ESCAPES) | (word - _SPACES) & ~word) & _HIGH:
                at += 8
                continue
        byte = _byte(data + at)
        if byte == _QUOTE:
            return at + 1
        if byte == _ESCAPE or byte < _SPACE:
            return _ODD
        at += 1
    return _ODD


@inner_borrowing_kernel
def _has(word: np.uint64, wanted: np.uint64) -> np.uint64:
    """The highest bit of a byte is set where it is the wanted one; above that one they mean nothing."""
    left = word ^ wanted
    return (left - _ONES) & ~left


@inner_borrowing_kernel
def _byte(address: int) -> np.uint8:
    return load(address, np.uint8(0))


@inner_borrowing_kernel
def _literal(data: int, at: int, end: int, word: np.uint32) -> int:
    """Behind a word of four letters."""
    return at + 4 if at + 4 <= end and load(data + at, np.uint32(0)) == word else _ODD


@inner_borrowing_kernel
def _false(data: int, at: int, end: int) -> int:
    return _literal(data, at + 1, end, _ALSE) if _byte(data + at) == _F else _ODD


@inner_borrowing_kernel
def _number(data: int, at: int, end: int) -> tuple[int, int, int]:
    """All its digits as a whole number, what is behind it, and how many digits follow the point; -1 without a
    point. With an exponent or more than 18 digits it is odd."""
    negative = _byte(data + at) == _MINUS
    if negative:
        at += 1
    first, digits, count, places = at, np.int64(0), 0, -1
    while at < end:
        byte = _byte(data + at)
        if byte == _DOT:
            if places >= 0 or at == first:
                return 0, _ODD, 0
            places = 0
        elif byte < _ZERO or byte > _ZERO + 9:
            break
        else:
            if count == 1 and places < 0 and digits == 0:
                return 0, _ODD, 0  # a zero before other digits
            digits = digits * 10 + (byte - _ZERO)
            count += 1
            if places >= 0:
                places += 1
        at += 1
    if count == 0 or count > 18 or places == 0:
        return 0, _ODD, 0
    if at < end and _byte(data + at) in (_E, _CAPITAL_E):
        return 0, _ODD, 0
    return int(-digits if negative else digits), at, places


@inner_borrowing_kernel
def _pair(data: int, at: int) -> int:
    """Two digits as a number, or one that is out of every range."""
    high, low = np.int64(_byte(data + at)) - _ZERO, np.int64(_byte(data + at + 1)) - _ZERO
    if high < 0 or high > 9 or low < 0 or low > 9:
        return 999
    return int(high * 10 + low)


@inner_borrowing_kernel
def _moment(data: int, at: int, stop: int) -> tuple[bool, int]:
    """Microseconds since 1970 of `2026-01-31 12:00:00`, with a `T`, up to six digits of a second, and a `Z`
    if there is one."""
    if stop - at > 19 and _byte(data + stop - 1) == _Z:
        stop -= 1
    if stop - at < 19 or _byte(data + at + 4) != _MINUS or _byte(data + at + 7) != _MINUS:
        return False, 0
    if _byte(data + at + 13) != _COLON or _byte(data + at + 16) != _COLON:
        return False, 0
    if _byte(data + at + 10) not in (_T, _SPACE):
        return False, 0
    year = _pair(data, at) * 100 + _pair(data, at + 2)
    month, day = _pair(data, at + 5), _pair(data, at + 8)
    hour, minute, second = _pair(data, at + 11), _pair(data, at + 14), _pair(data, at + 17)
    if year > 9999 or month < 1 or month > 12 or day < 1 or hour > 23 or minute > 59 or second > 59:
        return False, 0
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last = 28 + leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if day > last:
        return False, 0
    part = np.int64(0)
    if stop - at > 19:
        if _byte(data + at + 19) != _DOT or stop - at < 21 or stop - at > 26:
            return False, 0
        for k in range(6):
            part *= 10
            if at + 20 + k < stop:
                digit = np.int64(_byte(data + at + 20 + k)) - _ZERO
                if digit < 0 or digit > 9:
                    return False, 0
                part += digit
    # Days since 1970 by counting years from March on, so that a leap day is the last of its year.
    years = year - (month <= 2)
    era = years // 400
    of_era = years - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return True, int((days * 86400 + hour * 3600 + minute * 60 + second) * _US + part)
