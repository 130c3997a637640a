"""Law: column `i` has what message `i` of the client says. Nothing is kept of a message once it is freed.

The client gives an array of addresses, one for each message. Its header `rdkafka.h` says what is at such an
address; that is part of its binary interface and does not change. An object of Python for each message would
cost six times as much as the client's own work.

    err 0   topic 8   partition 16   payload 24   length 32   key 40   its length 48   offset 56
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.address import call, copy, load
from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]

PAYLOAD, KEY = 24, 40
_PARTITION, _OFFSET, _WORD = 16, 56, 8
_LOW = 0xFFFFFFFF
"""An `int` of C fills half of the word in which a function returns it."""


@kernel
def heads(messages: Int64s, errors: Int32s, partitions: Int32s, offsets: Int64s) -> None:
    for i in range(len(messages)):
        errors[i] = load(messages[i], np.int32(0))
        partitions[i] = load(messages[i] + _PARTITION, np.int32(0))
        offsets[i] = load(messages[i] + _OFFSET, np.int64(0))


@kernel
def lengths(messages: Int64s, part: int, ends: Int32s, given: Bools) -> int:
    """Where each payload, or each key, will end in a buffer of all of them, which gets that many bytes. One
    that is null is not given."""
    end = np.int64(0)
    ends[0] = 0
    for i in range(len(messages)):
        given[i] = load(messages[i] + part, np.int64(0)) != 0
        if given[i]:
            end += load(messages[i] + part + _WORD, np.int64(0))
        ends[i + 1] = end
    return int(end)


@kernel
def gather(messages: Int64s, part: int, ends: Int32s, buffer: int) -> None:
    for i in range(len(messages)):
        count = np.int64(ends[i + 1] - ends[i])
        if count:
            copy(buffer + ends[i], load(messages[i] + part, np.int64(0)), count)


@kernel
def timestamps(messages: Int64s, function: Any, kind: NDArray[np.int64], times: Int64s, given: Bools) -> None:
    """`kind` is a word for the client to write to. It says 0 where a message has no timestamp."""
    for i in range(len(messages)):
        times[i] = call(function, (messages[i], kind.ctypes.data))
        given[i] = (kind[0] & _LOW) != 0


@kernel
def count_headers(messages: Int64s, find: Any, get: Any, words: Int64s, ends: Int32s, given: Bools) -> int:
    """How many headers end with each message. `words`: room for four answers of the client."""
    at = words.ctypes.data
    ends[0] = 0
    for i in range(len(messages)):
        ends[i + 1] = ends[i]
        given[i] = (call(find, (messages[i], at)) & _LOW) == 0
        if given[i]:
            while (call(get, (words[0], ends[i + 1] - ends[i], at + 8, at + 16, at + 24)) & _LOW) == 0:
                ends[i + 1] += 1
    return int(ends[-1])


@kernel
def header_places(messages: Int64s, find: Any, get: Any, words: Int64s, ends: Int32s, found: Int64s) -> None:
    """Address of the name, address of the value and its length, by header: rows of `found`."""
    at = words.ctypes.data
    for i in range(len(messages)):
        if ends[i + 1] == ends[i]:
            continue
        call(find, (messages[i], at))
        for j in range(ends[i + 1] - ends[i]):
            call(get, (words[0], j, at + 8, at + 16, at + 24))
            found[ends[i] + j, 0], found[ends[i] + j, 1], found[ends[i] + j, 2] = words[1], words[2], words[3]


@kernel
def free(messages: Int64s, function: Any) -> None:
    for i in range(len(messages)):
        call(function, (messages[i],))
