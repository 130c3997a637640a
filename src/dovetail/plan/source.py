"""Places in a PQL text.

A `Span` is a half-open range of characters. `PqlText.show` turns it into what an error prints:
`file:line:column`, the line itself without its passwords, and `^^^^` under the range. Lines and columns count
from 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dovetail.connectors.secret import blotted

UNTIL = "until"
"""Key of a node's metadata: the last character that was read for it, where it has no place of its own."""
WIDEST_LINE = 120
"""Longer lines are cut around the range, so that an error stays readable."""


@dataclass(frozen=True)
class Span:
    start: int
    stop: int


@dataclass(frozen=True)
class PqlText:
    """A PQL text and its name in errors, such as a file name."""

    name: str
    text: str

    def place(self, span: Span) -> tuple[int, int]:
        """Line and column of the first character."""
        before = self.text[: span.start]
        return before.count("\n") + 1, span.start - (before.rfind("\n") + 1) + 1

    def show(self, span: Span | None) -> str:
        if span is None:
            return self.name
        start = min(max(span.start, 0), len(self.text))
        line_number, column = self.place(Span(start, start))
        line_start = start - (column - 1)
        line_stop = self.text.find("\n", start)
        line = self.text[line_start : len(self.text) if line_stop < 0 else line_stop].rstrip("\r")
        stop = _closed(self.text, start, span.stop)
        width = max(1, min(stop, line_start + len(line)) - start)
        line = blotted(line)
        cut = max(0, column - 1 - WIDEST_LINE // 2)
        shown = "".join(c if c.isprintable() else " " for c in line[cut : cut + WIDEST_LINE])
        marks = " " * (column - 1 - cut) + "^" * min(width, WIDEST_LINE // 2)
        return f"{self.name}:{line_number}:{column}\n      | {shown}\n      | {marks}"


def _closed(text: str, start: int, stop: int) -> int:
    """The end of a range, moved behind the brackets that open in it: a call ends at its bracket."""
    depth, at, mark = 0, start, ""
    while at < len(text) and (at < stop or depth > 0):
        character = text[at]
        if mark:
            mark = "" if character == mark else mark
        elif character in "'\"`":
            mark = character
        elif character == ";" and at >= stop:
            return stop
        else:
            depth += (character in "([") - (character in ")]")
        at += 1
    return max(at, stop) if depth == 0 else stop


def span_of(node: exp.Expr | None) -> Span | None:
    """The part of the text that a sqlglot node and its children come from; None if a rule made it."""
    if node is None:
        return None
    starts, stops = [], []
    for below in node.walk():
        meta = below._meta
        if meta and "start" in meta:
            starts.append(meta["start"])
            stops.append(meta["end"] + 1)
        elif meta and UNTIL in meta:
            stops.append(meta[UNTIL] + 1)
    return Span(min(starts), max(stops)) if starts else None
