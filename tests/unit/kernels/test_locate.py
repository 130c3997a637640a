"""Where rows lie in pieces that follow each other, against a look at every piece."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.kernels.gather import locate


@given(
    st.integers(0, 50),
    st.lists(st.integers(1, 6), max_size=6),
    st.lists(st.integers(-2, 90), max_size=40),
)
def test_a_row_is_in_the_piece_that_has_its_number(first: int, lengths: list[int], rows: list[int]) -> None:
    starts = [first + sum(lengths[:number]) for number in range(len(lengths))]
    end = first + sum(lengths) if lengths else 0
    expected = {
        row: (number, row - start)
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True))
        for row in range(start, start + length)
    } | {row: (-1, row) for row in (-1, -2)}
    piece, at = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
    numbers, met = np.zeros(len(starts), np.int32), np.empty(len(starts), np.int64)
    touched = np.zeros(len(starts), np.bool_)
    unknown, pieces = locate(
        np.array(starts, np.int64), end, np.array(rows, np.int64), piece, at, numbers, met, 0, touched
    )
    strangers = [place for place, row in enumerate(rows) if row not in expected]
    assert unknown == (strangers[0] if strangers else -1)
    known = rows[: unknown if strangers else len(rows)]
    segments = [-1 if number < 0 else int(met[number]) for number in piece[: len(known)]]
    assert list(zip(segments, at.tolist(), strict=False)) == [expected[row] for row in known]
    in_order = list(dict.fromkeys(expected[row][0] for row in known if row >= 0))
    assert met[:pieces].tolist() == in_order, "pieces are numbered as they are met"
    assert np.flatnonzero(touched).tolist() == list(range(pieces))
