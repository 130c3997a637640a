"""Ways in which a file can be other than what was written: wrong bytes, and bodies that make no sense.

Everything is drawn from the generator that is given: the same seed gives the same damage.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Damage = Callable[[bytes, bytes, random.Random], bytes]

_ODD_VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, -(10**30)),
    *(0.5, -0.0, 1e300, -1e300, float("nan"), float("inf")),
    *(None, True, False, "", "x", "0", "../../x", "\0", "left", [], [[]], {}, {"x": 1}, [0], [None]),
)


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 8, 64, 512, 4096)))


def cut(data: bytes, other: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def empty(data: bytes, other: bytes, rng: random.Random) -> bytes:
    return b""


def flipped(data: bytes, other: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    made, at = bytearray(data), rng.randrange(len(data))
    made[at] ^= 1 << rng.randrange(8)
    return bytes(made)


def zeroed(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + bytes(stop - start) + data[stop:]


def noise(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + rng.randbytes(stop - start) + data[stop:]


def doubled(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:]


def moved(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The size stays: a range is where another one was."""
    start, stop = _span(data, rng)
    to = rng.randrange(len(data) - (stop - start) + 1)
    return data[:to] + data[start:stop] + data[to + stop - start :]


def lost(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def longer(data: bytes, other: bytes, rng: random.Random) -> bytes:
    return data + rng.choice((b"\0", b"\n", b"{}", data, rng.randbytes(100)))


def torn(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The head of one version of the file with the tail of another."""
    at = rng.randrange(max(len(data), len(other)) + 1)
    return data[:at] + other[at:]


def exchanged(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Another file of the kind, whole."""
    return other


DAMAGES: tuple[Damage, ...] = (
    cut,
    empty,
    flipped,
    zeroed,
    noise,
    doubled,
    moved,
    lost,
    longer,
    torn,
    exchanged,
)


def senseless(body: Any, rng: random.Random) -> Any:
    """A JSON value with one to three things in it changed: a value, a key that is gone, a list that is
    longer."""
    made = copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders = [(holder, key) for holder, key in _places(made)]
        if not holders:
            return rng.choice(_ODD_VALUES)
        holder, key = rng.choice(holders)
        change = rng.randrange(10)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(rng.choice(holder)))
        elif change == 2 and isinstance(holder, dict):
            holder[rng.choice(("x", "version", "kind"))] = rng.choice(_ODD_VALUES)
        elif change == 3 and isinstance(holder[key], int):
            holder[key] += rng.choice((1, -1, 1000, -1000, 2**40))
        elif change == 4 and isinstance(holder[key], str) and holder[key]:
            at = rng.randrange(len(holder[key]))
            holder[key] = holder[key][:at] + rng.choice("Aa0/=\0") + holder[key][at + 1 :]
        elif change == 5:
            other_holder, other_key = rng.choice(holders)
            holder[key] = copy.deepcopy(other_holder[other_key])
        else:
            holder[key] = copy.deepcopy(rng.choice(_ODD_VALUES))
    return made


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found: list[tuple[Any, Any]] = [(value, key) for key in keys]
    for key in keys:
        found += _places(value[key])
    return found


def parsed(data: bytes) -> Any:
    return json.loads(data)
