"""When the reports of a writer could be read, so that it can say which of them is older than its knowledge,
and its reader how old that knowledge is.

What a writer knows of its source is as old as its last look. A question to brokers may be open for seconds,
and reports of a category's own writers come late. So readers would take `empty` for the state of now, if it
did not say how old it is.

    written  #6            #7            #8 ...
    look              │◄── began here: all that was in the source when #6 was there is known
"""

from __future__ import annotations

import time
from collections import deque

MOST = 256
"""How many times are kept for one writer. A stream that never rests has no look after which all earlier times
could be forgotten: then every other time goes. A report may safely be taken for older than it is."""


def steady_us() -> int:
    """A clock that never jumps. Only its differences mean anything."""
    return time.monotonic_ns() // 1000


class ReportTimes:
    """By the writer's steady clock."""

    def __init__(self) -> None:
        self._written: deque[tuple[int, int]] = deque([(0, 0)])  # number, and when writing it was done

    def written(self, number: int, us: int) -> None:
        self._written.append((number, us))
        _thinned(self._written)

    def __len__(self) -> int:
        return len(self._written)

    def before(self, look_us: int) -> int:
        """The last report that was there before a look began; 0: none was. Looks do not go back in time: what
        is older than the answer is forgotten."""
        while len(self._written) > 1 and self._written[1][1] < look_us:
            self._written.popleft()
        return self._written[0][0]


class ReadTimes:
    """When each report of a writer was read for the last time, by the reader's steady clock."""

    def __init__(self) -> None:
        self._reads: deque[tuple[int, int]] = deque()  # time, number

    def __len__(self) -> int:
        return len(self._reads)

    def read(self, number: int, us: int, looked_after: int) -> None:
        """Report `number`, whose look came after report `looked_after`. Looks do not go back in time: what is
        older than the answer is forgotten."""
        reads = self._reads
        if reads and number < reads[-1][1]:
            last_us = reads[-1][0]  # another run: none of its reports was there at the last read
            reads.clear()
            reads.append((last_us, 0))
        if reads and reads[-1][1] == number:
            reads.pop()
        reads.append((us, number))
        while len(reads) > 1 and reads[1][1] < looked_after:
            reads.popleft()
        _thinned(reads)

    def without(self, number: int) -> int | None:
        """The last read at which this report was not there yet."""
        return next((us for us, known in reversed(self._reads) if known < number), None)


def _thinned(times: deque[tuple[int, int]]) -> None:
    """The first one stays, and the last one too, which `ReadTimes` goes on from."""
    if len(times) > MOST:
        kept = list(times)
        times.clear()
        times.extend([*kept[:-1:2], kept[-1]])
