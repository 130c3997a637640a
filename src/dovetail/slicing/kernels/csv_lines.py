"""Lines of CSV, taken apart: every field is plain, or in quotes as a whole without a quote in it.

What readers of CSV may take differently makes a line doubtful: other quotes, backslashes, control
characters, too few or too many fields, and lines of nothing but blanks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.slicing.kernels.tokens import BACKSLASH, BLANK, NULL, QUOTE, TAB, TEXT, Tokens, is_utf8

Bytes = NDArray[np.uint8]


@inner_borrowing_kernel
def _take_apart(text: Bytes, at: int, stop: int, separator: int, line: int, tokens: Tokens) -> bool:
    """Whether the line is beyond doubt."""
    columns, column, blank = len(tokens.kinds), 0, True
    while column < columns:
        quoted = at < stop and text[at] == QUOTE
        if quoted:
            at += 1
        begin = at
        while at < stop:
            one = text[at]
            if one == QUOTE or (one == separator and not quoted):
                break
            if one == BACKSLASH or (one < BLANK and one != TAB):
                return False
            blank = blank and one <= BLANK
            at += 1
        end = at
        if quoted:
            if at >= stop or end == begin:
                return False
            at += 1
        tokens.starts[column, line], tokens.stops[column, line] = begin, end
        tokens.kinds[column, line] = NULL if end == begin else TEXT
        column += 1
        if at >= stop:
            return column == columns and not blank
        if text[at] != separator:
            return False
        blank = blank and separator <= BLANK
        at += 1
    return False


@borrowing_kernel
def take_apart_csv(
    text: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    separator: int,
    plain: bool,
    tokens: Tokens,
) -> None:
    """`starts`, `stops`: of lines. `plain`: the text is ASCII."""
    for line in range(len(starts)):
        fine = plain or is_utf8(text, starts[line], stops[line])
        fine = fine and _take_apart(text, starts[line], stops[line], separator, line, tokens)
        tokens.doubtful[line] = not fine
        if not fine:
            for column in range(len(tokens.kinds)):
                tokens.kinds[column, line] = NULL
