"""A seeded join: its mode, and the rows of both streams. Times are plain numbers, of any unit.

No row is behind its stream's time when it arrives (the disorder is below `MAX_DELAY`). So the result is the
batch join, however the streams are cut. Where a window counts rows, the result also depends on the order in
which commits of the two sides enter.

Drawn from a seed, in this order: without Spark the kind of join; its mode, the left rows, the right rows. A
change of this order, or of the sets drawn from, gives every seed another meaning.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from dovetail.service.torture import oracle, window_oracle
from dovetail.service.torture.modes import KINDS, MODES, SPARK_TURNS, VALUE_MODES, Kind, Mode
from dovetail.service.torture.oracle import Result, Row, Turn

BEFORE, AFTER, MAX_DELAY = 120, 90, 60
LEFT_ROWS, RIGHT_ROWS = 30, 25
"""For windows that count rows."""
LENGTH, EVERY = 200, 75
"""For tumbling and hopping windows."""
GAP, LONGEST = 60, 400
"""For sessions; some would last longer."""
_PACE = 10
_NULLS = 0.03


@dataclass(frozen=True)
class Workload:
    mode: Mode
    left: list[Row]
    right: list[Row]

    @classmethod
    def of(cls, seed: int | str, rows: int, kinds: Sequence[Kind] = get_args(Kind)) -> Workload:
        rng = random.Random(seed)
        (kind,) = rng.choices(kinds, [KINDS[kind] for kind in kinds])
        return cls._drawn(rng, MODES[kind], rows)

    @classmethod
    def by_value(cls, seed: int | str, rows: int) -> Workload:
        """One that picks by value."""
        return cls._drawn(random.Random(f"the pick of {seed}"), VALUE_MODES, rows)

    @classmethod
    def on_spark(cls, seed: int | str, turn: str, rows: int) -> Workload:
        return cls._drawn(random.Random(seed), SPARK_TURNS[turn], rows)

    @classmethod
    def _drawn(cls, rng: random.Random, modes: Sequence[Mode], rows: int) -> Workload:
        mode = rng.choice(modes)
        return cls(mode, random_rows(rng, rows, MAX_DELAY), random_rows(rng, rows, MAX_DELAY))

    def expected(self, turns: Sequence[Turn] = ()) -> Counter[Result]:
        """`turns`: all rows in the order they enter, for windows that count rows."""
        how, streams = self.mode.how, (self.left, self.right)
        fits = {"near": oracle.near, "next": oracle.next_to}[self.mode.condition]
        match self.mode.kind:
            case "interval":
                matches = oracle.within(BEFORE, AFTER, oracle.equal)
            case "theta":
                matches = oracle.within(BEFORE, AFTER, fits)
            case "theta by rows":
                matches = oracle.among_last(turns, LEFT_ROWS, RIGHT_ROWS, fits)
                streams = _entered(turns, "left"), _entered(turns, "right")
            case "tumbling":
                groups = window_oracle.fixed_windows(*streams, LENGTH, LENGTH)
                return window_oracle.expected(*streams, groups, how)
            case "hopping":
                groups = window_oracle.fixed_windows(*streams, LENGTH, EVERY)
                return window_oracle.expected(*streams, groups, how)
            case "session":
                groups = window_oracle.sessions(*streams, GAP, LONGEST)
                return window_oracle.expected(*streams, groups, how)
        return oracle.expected(*streams, matches, how, self.mode.pick)


def _entered(turns: Sequence[Turn], side: str) -> list[Row]:
    return [row for of, rows in turns if of == side for row in rows]


def random_rows(rng: random.Random, count: int, max_delay: int) -> list[Row]:
    """Keys of a few letters, times that advance with disorder below `max_delay`, some nulls. No two rows have
    the same time: which of two a join picks would depend on the order in which tasks wrote them."""
    rows: list[Row] = []
    seen = set()
    for number in range(count):
        key = None if rng.random() < _NULLS else rng.choice("abcdefgh")
        time = None if rng.random() < _NULLS else number * _PACE + rng.randrange(max_delay)
        while time is not None and time in seen:
            time = number * _PACE + rng.randrange(max_delay)
        seen.add(time)
        rows.append((key, time, number))
    return rows


def cut(rows: list[Row], part: int, parts: int) -> list[Row]:
    """Part number `part` of `parts`, in the order of arrival."""
    return rows[part * len(rows) // parts : (part + 1) * len(rows) // parts]
