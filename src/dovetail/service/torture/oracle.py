"""The result of a join from its definition alone: a scan over all pairs of rows.

Law: it imports nothing of the product, and shares no code with it. `tests/oracle.py` and its neighbours do
more: they know streams and steps. Here only the end counts, when both streams are over.
"""
# ruff: noqa: E741  (l and r are the words of the definition)

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

Row = tuple[str | None, int | None, int]
"""Key, time, number: the number is unique in its stream."""
Result = tuple[int | None, ...]
"""The numbers of a left and a right row; of joins within windows, the bounds of the window after them. A row
that comes out alone has None beside it."""
Matches = Callable[[Row, Row], bool]
Fits = Callable[[str, str], bool]
Turn = tuple[Literal["left", "right"], Sequence[Row]]
"""Rows of one side that enter one after the other."""


def expected(
    left: Sequence[Row], right: Sequence[Row], matches: Matches, how: str, pick: str | None
) -> Counter[Result]:
    out: Counter[Result] = Counter()
    taken = set()
    for l in left:
        partners = [r for r in right if matches(l, r)]
        if how in ("semi", "anti"):
            if bool(partners) == (how == "semi"):
                out[l[2], None] += 1
            continue
        if pick is not None and partners:
            partners = [min(partners, key=lambda r: _rank(l, r, pick))]
        for r in partners:
            out[l[2], r[2]] += 1
            taken.add(r[2])
        if not partners and how in ("left", "full"):
            out[l[2], None] += 1
    if how in ("right", "full"):
        out.update((None, r[2]) for r in right if r[2] not in taken)
    return out


def equal(l: str, r: str) -> bool:
    return l == r


def near(l: str, r: str) -> bool:
    return abs(ord(l) - ord(r)) <= 1


def next_to(l: str, r: str) -> bool:
    return l != r and abs(ord(l) - ord(r)) <= 2


def within(before: int, after: int, fits: Fits) -> Matches:
    """Keys that fit, times within bounds."""

    def matches(l: Row, r: Row) -> bool:
        if l[0] is None or r[0] is None or l[1] is None or r[1] is None:
            return False
        return fits(l[0], r[0]) and l[1] - before <= r[1] <= l[1] + after

    return matches


def among_last(turns: Iterable[Turn], left_rows: int, right_rows: int, fits: Fits) -> Matches:
    """Keys that fit; and when the later row enters, the other is among the last N rows of its side. Times do
    not matter."""
    left_in = right_in = 0
    before: dict[tuple[str, int], tuple[int, int]] = {}  # how many of both sides were in when a row entered
    for side, rows in turns:
        for row in rows:
            before[side, row[2]] = left_in, right_in
            left_in, right_in = left_in + (side == "left"), right_in + (side == "right")

    def matches(l: Row, r: Row) -> bool:
        if l[0] is None or r[0] is None or not fits(l[0], r[0]):
            return False
        of_l, of_r = before["left", l[2]], before["right", r[2]]
        if of_l < of_r:  # l was in
            return of_r[0] - of_l[0] <= left_rows
        return of_l[1] - of_r[1] <= right_rows

    return matches


def _rank(l: Row, r: Row, pick: str) -> tuple[int, ...]:
    """The smallest is picked. max: the largest number. min: the number next to the left row's."""
    assert l[1] is not None
    assert r[1] is not None
    match pick:
        case "nearest":
            return abs(r[1] - l[1]), r[1], r[2]
        case "earliest":
            return r[1], r[2]
        case "latest":
            return -r[1], r[2]
        case "max":
            return -r[2], r[1]
        case "min":
            return abs(r[2] - l[2]), r[1], r[2]
    raise ValueError(f"no pick {pick!r}")


def difference(found: Iterable[Result], wanted: Counter[Result]) -> str | None:
    """What is wrong with a result, in a sentence; None if it is right."""
    counted = Counter(found)
    if counted == wanted:
        return None
    lost, extra = wanted - counted, counted - wanted
    twice = sum(count for row, count in extra.items() if row in wanted)
    wrong = extra.total() - twice
    shown = [*lost.elements()][:3], [*extra.elements()][:3]
    return f"{lost.total()} rows lost, {twice} twice, {wrong} wrong; lost {shown[0]}, too many {shown[1]}"
