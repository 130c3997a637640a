"""What the cores of both handshake joins have in common: rows of two windows, meetings that are not sent out
yet, and links to their neighbours."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from dovetail.sliding.kernels.join_core import NEEDS_ROOM
from dovetail.sliding.kernels.meeting import MEETING_WORDS, Kept, larger
from dovetail.sliding.kernels.probe import Probe, probe_room
from dovetail.sliding.stepping import FIRST_FOUND, SteppedCore
from dovetail.sliding.topology import Job


class ChainCore(SteppedCore):
    """`core` is the kernel's tuple of that name, `words` the kernel's module, which says where its state has
    what."""

    words: ClassVar[Any]
    core: Any

    def __init__(self, job: Job, number: int, links: Any, join: Any) -> None:
        self.number, self.links, self._join = number, links, join
        self._layout, self._key_kind = job.encoding.layout, job.encoding.key_kind

    def _room(self, rows: int = FIRST_FOUND) -> tuple[Probe, np.ndarray[Any, np.dtype[np.int64]]]:
        """For what is found, and for the meetings that come of it."""
        return probe_room(rows, self._layout.dimensions, self._key_kind), np.zeros(
            (rows, MEETING_WORDS), np.int64
        )

    def _state(self, cores: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        state = np.zeros(self.words.STATE_WORDS, np.int64)
        state[self.words.NUMBER], state[self.words.CORES] = self.number, cores
        return state

    def _arguments(self) -> tuple[Any, ...]:
        return self.core, self.links, self._join

    def _grow(self, what: int) -> None:
        if what == NEEDS_ROOM:
            probe, meetings = self._room(2 * len(self.core.meetings))
            self.core = self.core._replace(probe=probe, meetings=meetings)
        else:
            self._grow_window(what)

    @abstractmethod
    def _grow_window(self, what: int) -> None: ...

    def _larger(self, old: Kept, access: int) -> Kept:
        return larger(old, self._layout, self._key_kind, access)

    @property
    def busy(self) -> bool:
        state = self.core.state
        return bool(state[self.words.SENT_OUT] < state[self.words.FOUND])

    @property
    def rows_held(self) -> int:
        return int(sum(one.window.marks[1] - one.window.marks[0] for one in (self.core.r, self.core.s)))

    @property
    def compared(self) -> int:
        """Pairs of rows that stood face to face in a window so far, whether a scan or an index looked."""
        return int(self.core.state[self.words.COMPARED])
