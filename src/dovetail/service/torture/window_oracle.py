"""What a join within windows must give: every window by itself, every left row in it with every right one.

Law: as `oracle.py`, it imports nothing of the product. A row of the result is (left, right, start, end).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dovetail.service.torture.oracle import Result, Row

Sides = tuple[list[int], list[int]]
"""The numbers of the left and the right rows that are together."""
Window = tuple[int, int]


def expected(
    left: Sequence[Row], right: Sequence[Row], groups: dict[Window, list[Sides]], how: str
) -> Counter[Result]:
    """`groups`: for every window the rows of each key in it."""
    out: Counter[Result] = Counter()
    for (start, end), keys in groups.items():
        for lefts, rights in keys:
            for one, other in _joined(lefts, rights, how):
                out[one, other, start, end] += 1
    if how in ("left", "full", "anti"):
        out.update((row[2], None, None, None) for row in left if None in row)
    if how in ("right", "full"):
        out.update((None, row[2], None, None) for row in right if None in row)
    return out


def _joined(lefts: list[int], rights: list[int], how: str) -> Iterator[tuple[int | None, int | None]]:
    if how not in ("semi", "anti"):
        yield from ((one, other) for one in lefts for other in rights)
    if (how == "semi" and rights) or (how in ("left", "full", "anti") and not rights):
        yield from ((one, None) for one in lefts)
    if how in ("right", "full") and not lefts:
        yield from ((None, other) for other in rights)


def fixed_windows(
    left: Sequence[Row], right: Sequence[Row], length: int, every: int
) -> dict[Window, list[Sides]]:
    """Windows of a length, one of which begins at every multiple of `every`: all that there may be."""
    rows = [[row for row in side if None not in row] for side in (left, right)]
    times = [row[1] or 0 for side in rows for row in side]
    groups = {}
    for start in range(-length // every * every, max(times, default=0) + 1, every):
        held = [[row for row in side if start <= (row[1] or 0) < start + length] for side in rows]
        groups[start, start + length] = [
            ([row[2] for row in held[0] if row[0] == key], [row[2] for row in held[1] if row[0] == key])
            for key in sorted({row[0] or "" for side in held for row in side})
        ]
    return groups


def sessions(left: Sequence[Row], right: Sequence[Row], gap: int, longest: int) -> dict[Window, list[Sides]]:
    """Rows of a key, each at most `gap` after the one before and at most `longest` after the first."""
    groups: dict[Window, list[Sides]] = {}
    for key in sorted({row[0] or "" for row in (*left, *right) if None not in row}):
        rows = sorted(
            (row[1] or 0, side, row[2])
            for side, stream in enumerate((left, right))
            for row in stream
            if row[0] == key and row[1] is not None
        )
        while rows:
            count = 1
            while count < len(rows) and rows[count][0] <= min(rows[count - 1][0] + gap, rows[0][0] + longest):
                count += 1
            visit, rows = rows[:count], rows[count:]
            sides = tuple([number for _, side, number in visit if side == which] for which in (0, 1))
            groups.setdefault((visit[0][0], visit[-1][0] + gap), []).append((sides[0], sides[1]))
    return groups
