"""How a story is written, and how it is played to a join.

A story is a few lines on one time line, top to bottom. Each line is one step: the rows that come, then what
comes out of the join because of it.

    l a10           |               a left row with key a and event time 10 comes; nothing comes out
    r a12           | a10+a12       a right row comes, and the pair comes out
    l a11  r b11    | a11+a12       rows of one line come in one step
    r .60           | a10+-         a row of nobody's key: it only moves its stream's time
    end             | -+b11         both streams end: every window closes
    change          | a10+a14       the join becomes another one, and that yields something

A stream's time is its newest event time so far: a row before it is late. Out come pairs `left+right`, lone
left rows `left+-` and lone right rows `-+right`; rows within windows have their window behind them, `@0-10`.
In stories of theta joins the letter is a number: what the condition looks at. In stories of picks by value
`a12=5` is a row with the value 5, and `a12=?` one with null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from streams import Row, Step

INFINITY = float("inf")
Change = Callable[[], Sequence[tuple[Any, ...]]]
"""Changes a join; returns what comes out, as `Play` does."""
Play = Callable[[Step], Sequence[tuple[Any, ...]]]
"""Gives a step to a join; returns row numbers, left and right, and the bounds of a window if there are."""


class Line(NamedTuple):
    text: str
    step: Step
    expected: list[str]
    changes: bool = False


class Story:
    """Rows get numbers as they come; names lead back from numbers to what the story calls them."""

    def __init__(self, text: str) -> None:
        self.names: dict[str, dict[int, str]] = {"l": {}, "r": {}}
        self.values: dict[str, dict[int, float | None]] = {"l": {}, "r": {}}
        self.lines = [self._line(line) for line in text.strip().splitlines() if line.strip()]

    def _line(self, line: str) -> Line:
        came, _, out = line.partition("|")
        rows: dict[str, list[Row]] = {"l": [], "r": []}
        side = "l"
        for word in came.split():
            if word in ("l", "r"):
                side = word
            elif word not in ("end", "change"):
                rows[side].append(self._row(side, word))
        until = (INFINITY, INFINITY) if "end" in came.split() else (self._time("l"), self._time("r"))
        step = Step(tuple(rows["l"]), tuple(rows["r"]), until)
        return Line(line.strip(), step, sorted(out.split()), "change" in came.split())

    def _row(self, side: str, word: str) -> Row:
        named, _, value = word.partition("=")
        if ":" in word:
            key, time = (int(part) for part in named.split(":"))
        else:
            key, time = ord(named[0]) - ord("a"), int(named[1:])
        number = len(self.names[side])
        self.values[side][number] = None if value in ("", "?") else float(value)
        self.names[side][number] = word
        return Row(100 + (side == "r") if word[0] == "." else key, time, number)

    def _time(self, side: str) -> float:
        names = [name.partition("=")[0] for name in self.names[side].values()]
        times = [int(re.split(r"[a-z.:]", name)[-1]) for name in names]
        return max(times, default=-INFINITY)

    def check(self, play: Play, change: Change | None = None) -> None:
        for line in self.lines:
            rows = change() if line.changes and change is not None else play(line.step)
            found = sorted(self._named(row) for row in rows)
            assert [name for name in found if "." not in name] == line.expected, line.text

    def _named(self, row: tuple[Any, ...]) -> str:
        left, right, *bounds = row
        pair = (
            "-" if left is None else self.names["l"][left],
            "-" if right is None else self.names["r"][right],
        )
        window = f"@{bounds[0]}-{bounds[1]}" if bounds and bounds[0] is not None else ""
        return "+".join(pair) + window
