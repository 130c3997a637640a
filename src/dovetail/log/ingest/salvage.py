"""Find the few bad rows among many good ones: halve what fails, until it is one row.

Law: the parts returned cover `0..count` in order, and a part that failed is one row long. With `k` bad rows
the cost is about `k log(count / k)` attempts; with none, one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import pyarrow as pa

Value = TypeVar("Value")


class Part(NamedTuple, Generic[Value]):
    """Rows `start..stop-1`: what the attempt gave, or why it failed."""

    start: int
    stop: int
    value: Value | None
    reason: str | None


def salvage(count: int, attempt: Callable[[int, int], Value]) -> Iterator[Part[Value]]:
    """Run `attempt(start, stop)` over all rows; it raises ArrowInvalid where a row is bad."""
    pending = [(0, count)] if count else []
    while pending:
        start, stop = pending.pop()
        try:
            yield Part(start, stop, attempt(start, stop), None)
        except pa.ArrowInvalid as error:
            if stop - start == 1:
                yield Part(start, stop, None, str(error))
            else:
                middle = (start + stop) // 2
                pending += [(middle, stop), (start, middle)]
