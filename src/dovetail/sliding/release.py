"""Which rows of the payload can go.

Law: a row goes only when no pair that is unread, under way or yet to come names it.

A *trace* follows all that has been offered up to now through the design, stage by stage: first the channels
that rows take, last the one that results leave by. A stage is behind us when everything that was in it at the
moment we came to it has been taken. So a trace ends even if new rows never stop coming. When it does, each
row offered before it has met all that it can, and its pairs have been read from the design; later rows see
only what is in the windows since then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.sliding.kernels.channel import CLOSED, SENT, TAKEN, Bank, Channel

Stage = Callable[[], Callable[[], bool]]
"""Called when a trace comes to it; what it returns says whether the trace has passed."""


def taken_from(*channels: Channel | Bank) -> Stage:
    """All messages that are in these channels now have been taken, or nobody will ever take them.

    The marks belong to other threads. Reading an old TAKEN only makes the trace wait. Reading an old SENT
    cannot miss a message that the trace follows: its sender stored SENT before it took the message that
    caused it, and we have seen that one taken.
    """

    # Every push looks at a trace: views are made once.
    marks = [(of.marks[..., SENT], of.marks[..., TAKEN], of.marks[..., CLOSED]) for of in channels]

    def begin() -> Callable[[], bool]:
        before = [sent.copy() for sent, _, _ in marks]

        def passed() -> bool:
            return all(
                bool(((taken >= sent) | (closed != 0)).all())
                for sent, (_, taken, closed) in zip(before, marks, strict=True)
            )

        return passed

    return begin


def when(test: Callable[[], bool]) -> Stage:
    """The test was true once since the trace came here."""
    return lambda: test


class Trace:
    """`carries`: what may be done when it is through."""

    def __init__(self, stages: Sequence[Stage], carries: Any) -> None:
        self.carries = carries
        self._ahead = list(stages)
        self._passed: Callable[[], bool] = lambda: True

    def through(self) -> bool:
        while self._passed():
            if not self._ahead:
                return True
            self._passed = self._ahead.pop(0)()
        return False
