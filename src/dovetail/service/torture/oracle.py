"""What a join must give, from the definition alone: a scan over all pairs of rows.

Law: it imports nothing of the product, nor shares a line with it. `tests/oracle.py` is its fuller sister,
which knows streams and steps; here only the end counts, when both streams are over.
"""
# ruff: noqa: E741  (l and r are the words of the definition)

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

Row = tuple[str | None, int | None, int]
"""Key, time, number: the number is unique in its stream."""
Result = tuple[int | None, int | None]


def expected(
    left: Sequence[Row],
    right: Sequence[Row],
    before: int,
    after: int,
    how: str,
    pick: str | None,
    theta: bool = False,
) -> Counter[Result]:
    """Pairs of numbers; a row that comes out alone has None beside it. `theta`: keys of neighbouring letters
    match too."""
    out: Counter[Result] = Counter()
    taken = set()
    for l in left:
        partners = [r for r in right if _matches(l, r, before, after, theta)]
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


def _matches(l: Row, r: Row, before: int, after: int, theta: bool) -> bool:
    if l[0] is None or r[0] is None or l[1] is None or r[1] is None:
        return False
    near = abs(ord(l[0]) - ord(r[0])) <= 1 if theta else l[0] == r[0]
    return near and l[1] - before <= r[1] <= l[1] + after


def _rank(l: Row, r: Row, pick: str) -> tuple[int, ...]:
    assert l[1] is not None
    assert r[1] is not None
    match pick:
        case "nearest":
            return abs(r[1] - l[1]), r[1], r[2]
        case "earliest":
            return r[1], r[2]
        case "latest":
            return -r[1], r[2]
    raise ValueError(f"no pick {pick!r}")


def difference(found: Iterable[Result], wanted: Counter[Result]) -> str | None:
    """What is wrong with a result, in a sentence; None if it is as it must be."""
    counted = Counter(found)
    if counted == wanted:
        return None
    lost, extra = wanted - counted, counted - wanted
    twice = sum(count for row, count in extra.items() if row in wanted)
    wrong = extra.total() - twice
    shown = [*lost.elements()][:3], [*extra.elements()][:3]
    return f"{lost.total()} rows lost, {twice} twice, {wrong} wrong; lost {shown[0]}, too many {shown[1]}"
