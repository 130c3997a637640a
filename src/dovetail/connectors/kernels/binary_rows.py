"""Flat records in Avro's and Protobuf's binary forms, from columns and to columns.

Law: what `encode` writes, `decode` of the same form reads as the same columns.

    Avro       each field in the order of the schema; whole numbers as zigzag varints; a union begins with the
               number of its branch; an array is blocks of items, each after their number, and a zero
    Protobuf   each field that is there, after a tag: its number and how it is written
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.address import copy, load, store
from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
Whole = Any
"""A whole number: NumPy's and Python's are alike in kernels."""

AVRO, PROTOBUF = range(2)
NOTHING, TRUTH, WHOLE, SIGNED, REAL32, REAL64, WORD32, WORD64, TEXT, FIXED, MOMENT = range(11)
"""How a field is written. WHOLE: a varint, in Avro zigzag; SIGNED: zigzag in Protobuf; WORD: of fixed width;
MOMENT: Protobuf's Timestamp, a message of seconds and nanoseconds."""
UNION, JUMP, ARRAY, NEXT = range(MOMENT + 1, MOMENT + 5)
"""How Avro's fields go on (`avro_schema.py`): after a UNION stands a JUMP for each branch, between an ARRAY
and its NEXT are the fields of one item."""
MOST_NESTED = 16
"""Arrays in arrays."""
PLAIN, NULL_FIRST, NULL_LAST = range(3)
_ODD = -1
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_US, _NS = 1_000_000, 1_000


class BinaryFields(NamedTuple):
    """A row for each field of the written schema. `columns`: the column that it becomes, -1 for none.
    `numbers`: in Protobuf its number; in Avro the bytes of a FIXED one, the branches of a UNION, where a JUMP
    goes, what is behind an ARRAY, and of which ARRAY a NEXT is. `unions`: Avro's branches of null, in
    Protobuf PLAIN where a field that is not there is zero."""

    kinds: NDArray[np.int8]
    columns: NDArray[np.int32]
    numbers: NDArray[np.int32]
    unions: NDArray[np.int8]


class BinaryColumns(NamedTuple):
    """A row for each column. `words`: whole numbers, reals by their bits, and where texts are; `sizes`: how
    long they are."""

    words: NDArray[np.int64]
    sizes: NDArray[np.int32]
    given: NDArray[np.bool_]


def loops() -> Int64s:
    """Room for `decode`: how many items of each array around a place are left, and where the last began."""
    return np.empty((2, MOST_NESTED), np.int64)


@borrowing_kernel
def decode(
    form: int,
    data: int,
    starts: Int64s,
    stops: Int64s,
    fields: BinaryFields,
    columns: BinaryColumns,
    odd: Bools,
    loops: Int64s,
) -> None:
    """Values between these places of `data`. What is not a record of these fields is odd. In `columns` texts
    are given by places in `data`."""
    for i in range(len(odd)):
        if form == AVRO:
            odd[i] = _avro(data, starts[i], stops[i], fields, columns, i, loops) != stops[i]
        else:
            odd[i] = _protobuf(data, starts[i], stops[i], fields, columns, i) != stops[i]


@borrowing_kernel
def encode(
    form: int, fields: BinaryFields, columns: BinaryColumns, head: int, ends: Int32s, target: int
) -> int:
    """Rows, each with room for `head` bytes before it. Without a target (0) only `ends` are filled. Texts of
    `columns` are given by their addresses."""
    at = np.int64(0)
    for i in range(len(ends) - 1):
        at += head
        for n in range(len(fields.kinds)):
            to = target + at if target else np.int64(0)
            at += _written(form, fields, columns, n, i, to)
        ends[i + 1] = at
    return int(at)


@inner_borrowing_kernel
def _avro(
    data: Whole,
    at: Whole,
    end: Whole,
    fields: BinaryFields,
    columns: BinaryColumns,
    row: Whole,
    loops: Int64s,
) -> Whole:
    n, depth = np.int64(0), np.int64(0)
    while n < len(fields.kinds):
        kind = fields.kinds[n]
        if kind >= UNION:
            at, n, depth = _led(data, at, end, fields, n, depth, loops)
            if at < 0:
                return _ODD
            continue
        if fields.unions[n] != PLAIN:
            at, branch = _varint(data, at, end)
            if at < 0 or branch > 2 or branch == 1:
                return _ODD
            null = 0 if fields.unions[n] == NULL_FIRST else 2  # zigzag of 1
            if branch == null:
                n += 1
                continue
        word, size = np.int64(0), np.int64(0)
        if kind in (WHOLE, SIGNED, TEXT):
            at, coded = _varint(data, at, end)
            word = _unzigzag(coded)
            if kind == TEXT:
                size, word = word, np.int64(at)
        elif kind == FIXED:
            size, word = np.int64(fields.numbers[n]), np.int64(at)
        elif kind != NOTHING:
            width = 1 if kind == TRUTH else 4 if kind == REAL32 else 8
            if at + width > end:
                return _ODD
            word = _word(data + at, width)
            at += width
        if at < 0 or size < 0 or size > end - at:
            return _ODD
        at += size
        _keep(fields, columns, n, row, word, size)
        n += 1
    return at


@inner_borrowing_kernel
def _led(
    data: Whole, at: Whole, end: Whole, fields: BinaryFields, n: Whole, depth: Whole, loops: Int64s
) -> tuple[Whole, Whole, Whole]:
    """Where reading goes on: in the data and in the fields, within how many arrays."""
    kind, number = fields.kinds[n], np.int64(fields.numbers[n])
    if kind == JUMP:
        return at, number, depth
    if kind == UNION:
        at, coded = _varint(data, at, end)
        branch = _unzigzag(coded)
        return (at if 0 <= branch < number else _ODD), n + 1 + branch, depth
    head = n
    if kind == ARRAY:
        depth += 1
    else:
        head = number
        left = loops[0, depth - 1] - 1
        # Where one item takes no room none does: a block of them could say that it has any number.
        if left > 0 and at > loops[1, depth - 1]:
            loops[0, depth - 1], loops[1, depth - 1] = left, at
            return at, head + 1, depth
    at, count = _block(data, at, end)
    if count == 0:
        return at, np.int64(fields.numbers[head]), depth - 1
    loops[0, depth - 1], loops[1, depth - 1] = count, at
    return at, head + 1, depth


@inner_borrowing_kernel
def _block(data: Whole, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    """The next block of an array: where its items begin, and how many there are; none at its end. One that
    says how long it is is passed over at once."""
    while True:
        at, coded = _varint(data, at, end)
        count = _unzigzag(coded)
        if at < 0 or count >= 0:
            return at, count
        at, coded = _varint(data, at, end)
        size = _unzigzag(coded)
        if at < 0 or size < 0 or size > end - at:
            return _ODD, count
        at += size


@inner_borrowing_kernel
def _unzigzag(coded: np.uint64) -> Whole:
    return np.int64((coded >> np.uint64(1)) ^ -(coded & np.uint64(1)))


@inner_borrowing_kernel
def _protobuf(
    data: Whole, at: Whole, end: Whole, fields: BinaryFields, columns: BinaryColumns, row: Whole
) -> Whole:
    for n in range(len(fields.kinds)):
        if fields.unions[n] == PLAIN:  # not there means zero
            _keep(fields, columns, n, row, np.int64(0), np.int64(0))
    while at < end:
        at, tag = _varint(data, at, end)
        if at < 0:
            return _ODD
        way, number = tag & np.uint64(7), tag >> np.uint64(3)
        word, size = np.int64(0), np.int64(0)
        if way == _VARINT:
            at, coded = _varint(data, at, end)
            word = np.int64(coded)
        elif way == _LENGTH:
            at, coded = _varint(data, at, end)
            size, word = np.int64(coded), np.int64(at)
        elif way in (_EIGHT, _FOUR):
            width = 8 if way == _EIGHT else 4
            if at + width > end:
                return _ODD
            word = _word(data + at, width)
            at += width
        else:
            return _ODD
        if at < 0 or size < 0 or at + size > end:
            return _ODD
        at += size
        for n in range(len(fields.kinds)):
            if fields.numbers[n] == number:
                if _way(fields.kinds[n]) != way:
                    return _ODD
                if fields.kinds[n] == SIGNED:
                    word = np.int64((np.uint64(word) >> np.uint64(1)) ^ -(np.uint64(word) & np.uint64(1)))
                elif fields.kinds[n] == TRUTH:
                    word = np.int64(word != 0)
                elif fields.kinds[n] == MOMENT:
                    good, word = _moment(data, word, word + size)
                    if not good:
                        return _ODD
                _keep(fields, columns, n, row, word, size)
                break
    return at


@inner_borrowing_kernel
def _moment(data: Whole, at: Whole, end: Whole) -> tuple[bool, Whole]:
    """Microseconds of a Timestamp."""
    seconds, nanos = np.int64(0), np.int64(0)
    while at < end:
        at, tag = _varint(data, at, end)
        if at < 0:
            return False, 0
        at, coded = _varint(data, at, end)
        if at < 0:
            return False, 0
        if tag == 8:
            seconds = np.int64(coded)
        elif tag == 16:
            nanos = np.int64(coded)
        else:
            return False, 0
    return True, seconds * _US + nanos // _NS


@inner_borrowing_kernel
def _keep(
    fields: BinaryFields, columns: BinaryColumns, n: Whole, row: Whole, word: Whole, size: Whole
) -> None:
    column = fields.columns[n]
    if column >= 0 and fields.kinds[n] != NOTHING:
        columns.words[column, row] = word
        columns.sizes[column, row] = size
        columns.given[column, row] = True


@inner_borrowing_kernel
def _way(kind: Whole) -> Whole:
    if kind in (TEXT, MOMENT):
        return _LENGTH
    if kind in (REAL64, WORD64):
        return _EIGHT
    return _FOUR if kind in (REAL32, WORD32) else _VARINT


@inner_borrowing_kernel
def _word(address: Whole, width: Whole) -> Whole:
    """Of 8, 4 or 1 bytes, the lowest first. Four are kept with their sign."""
    if width == 8:
        return load(address, np.int64(0))
    if width == 4:
        return np.int64(load(address, np.int32(0)))
    return np.int64(load(address, np.uint8(0)))


@inner_borrowing_kernel
def _varint(data: Whole, at: Whole, end: Whole) -> tuple[Whole, np.uint64]:
    """What is behind it, and its 64 bits."""
    found, shift = np.uint64(0), np.uint64(0)
    while at < end and shift < 64:
        byte = np.uint64(load(data + at, np.uint8(0)))
        at += 1
        found |= (byte & np.uint64(127)) << shift
        if byte < 128:
            return at, found
        shift += np.uint64(7)
    return _ODD, found


@inner_borrowing_kernel
def _written(
    form: Whole, fields: BinaryFields, columns: BinaryColumns, n: Whole, row: Whole, to: Whole
) -> Whole:
    """A field of a row, at an address if there is one; how many bytes it has."""
    kind, column = fields.kinds[n], fields.columns[n]
    given, word = columns.given[column, row], columns.words[column, row]
    size = np.int64(columns.sizes[column, row])
    at = np.int64(0)
    if form == PROTOBUF:
        if not given:
            return 0
        tag = np.uint64(fields.numbers[n]) << np.uint64(3) | np.uint64(_way(kind))
        at += _put(to, at, tag)
    elif fields.unions[n] != PLAIN:
        at += _put(to, at, np.uint64(2 if given else 0))
        if not given:
            return at
    if kind == MOMENT:
        seconds = word // _US
        nanos = (word - seconds * _US) * _NS
        inner = 1 + _put(0, 0, np.uint64(seconds)) + (1 + _put(0, 0, np.uint64(nanos)) if nanos else 0)
        at += _put(to, at, np.uint64(inner))
        at += _put(to, at, np.uint64(8))
        at += _put(to, at, np.uint64(seconds))
        if nanos:
            at += _put(to, at, np.uint64(16))
            at += _put(to, at, np.uint64(nanos))
    elif kind == TEXT:
        at += _put(to, at, np.uint64(size << 1 if form == AVRO else size))
        if to and size:
            copy(to + at, word, size)
        at += size
    elif kind == TRUTH:
        at += _put(to, at, np.uint64(word))
    elif kind == WHOLE:
        coded = np.uint64((word << 1) ^ (word >> 63)) if form == AVRO else np.uint64(word)
        at += _put(to, at, coded)
    elif kind == REAL32:
        if to:
            store(to + at, np.int32(word))
        at += 4
    else:
        if to:
            store(to + at, np.int64(word))
        at += 8
    return at


@inner_borrowing_kernel
def _put(to: Whole, at: Whole, value: np.uint64) -> Whole:
    """A varint; how many bytes it has."""
    count = np.int64(1)
    while value >= np.uint64(128):
        if to:
            store(to + at, np.uint8((value & np.uint64(127)) | np.uint64(128)))
        value >>= np.uint64(7)
        at += 1
        count += 1
    if to:
        store(to + at, np.uint8(value))
    return count
