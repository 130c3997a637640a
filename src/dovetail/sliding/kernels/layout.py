"""What a message between join cores says, word by word.

A row travels as a point and a box. The point (one key a dimension) is what a core stores; the box (a lowest
key and a width a dimension) is what it probes the other side with: a stored point inside it is a candidate.
Keys are unsigned integers in the order of the values they stand for (`sliding/kernels/encode.py`), so cores
know nothing of types. Cells are the same once more, coarser, for the index that finds candidates without a
scan. Values are the columns themselves, for what boxes cannot say.
"""

from __future__ import annotations

from typing import NamedTuple

KIND = 0  # R or S; others belong to one design
ROW = 1  # its number in its own stream, from 0
TIME = 2
SEEN = 3  # rows of the other stream that came before it
FIRST = 4  # the oldest of those that it may still meet
FLAGS = 5
STAMP = 6  # cycles when it entered, if anybody measures
BODY = 7

R, S = 0, 1
BLANK = 1  # flag: a null or NaN where the predicate looks: it takes its place in the window and meets nobody
STAR = 2  # flag: a punctuation is due after this row
COARSER = 8  # from this bit of the flags on: how often the groups of stars within this probe are doubled

PAIR_KIND = 0  # R or S: who came last and probed; STAR_R and STAR_S are punctuations
PAIR_R = 1
PAIR_S = 2
PAIR_ORDER = 3  # arrival number of the row that probed
PAIR_GROUP = (
    4  # of a star within a probe: results with rows of this group of the window and before are all out
)
PAIR_IN = 5  # cycles when the later row entered the join, when the core took it, when the pair was found
PAIR_TAKEN = 6
PAIR_FOUND = 7
PAIR_WORDS = 8
STAR_R, STAR_S = 2, 3
WHOLE = 2**61  # the group of the star that ends a probe


class Layout(NamedTuple):
    """Where in a row's message its parts begin, and how many words each has."""

    dimensions: int
    grid: int  # of them, how many the cell index looks at
    values: int
    keys_at: int
    lows_at: int
    widths_at: int
    cells_at: int
    cells_low_at: int
    cells_high_at: int
    values_at: int
    words: int


def layout(dimensions: int, grid: int, values: int) -> Layout:
    keys = BODY
    lows = keys + dimensions
    widths = lows + dimensions
    cells = widths + dimensions
    values_at = cells + 3 * grid
    return Layout(
        dimensions,
        grid,
        values,
        keys,
        lows,
        widths,
        cells,
        cells + grid,
        cells + 2 * grid,
        values_at,
        values_at + values,
    )
