"""A core with a kernel of its own: it is stepped or run, and where the kernel needs more room it gets that
and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dovetail.sliding.kernels import together
from dovetail.sliding.kernels.channel import SENT, TAKEN, Bank, Channel
from dovetail.sliding.kernels.meeting import MEETING_WORDS, Kept, larger_kept
from dovetail.sliding.kernels.stepping import (
    COMPARED,
    CORES,
    FOUND,
    NEEDS_FLIGHT,
    NEEDS_PASS,
    NEEDS_ROOM,
    NEEDS_WINDOW_R,
    NEEDS_WINDOW_S,
    NUMBER,
    SENT_OUT,
    STATE_WORDS,
    STEP_ROWS,
    WORKED,
    Rules,
)
from dovetail.sliding.kernels.subwindow import RUN_ROWS, Probe, Words, larger, probe_room
from dovetail.sliding.topology import SlidingJob

FIRST_FOUND = 4096
_AT_ONCE = np.ones(1, np.int64)
_WINDOWS = {NEEDS_WINDOW_R: "r", NEEDS_WINDOW_S: "s", NEEDS_FLIGHT: "flight"}


def capacity_for(rows: int) -> int:
    return max(RUN_ROWS, 1 << max(rows - 1, 0).bit_length())


class SteppedCore:
    """What the kernel is given (`sliding/kernels/stepping.py`): `core`, a named tuple of windows, `state` and
    whatever the design has besides; `links`, the channels; and the rules."""

    kernel: ClassVar[Callable[..., int]]
    core: Any

    def __init__(self, job: SlidingJob, number: int, links: Any, rules: Rules | None = None) -> None:
        self.number, self.links = number, links
        self._rules = job.rules if rules is None else rules
        self._layout, self._key_kind = job.encoding.layout, job.encoding.key_kind
        self._state = np.zeros(STATE_WORDS, np.int64)
        self._state[NUMBER], self._state[CORES] = number, job.cores

    def step(self, budget: int) -> bool:
        while True:
            came_to = type(self).kernel(self.core, self.links, self._rules, budget, _AT_ONCE)
            if came_to < NEEDS_ROOM:
                return bool(came_to == WORKED)
            self._grow(came_to)

    def run(self, stop: npt.NDArray[np.int64]) -> None:
        """Step for a while, until `stop` or a longer pause."""
        came_to = type(self).kernel(self.core, self.links, self._rules, STEP_ROWS, stop)
        if came_to >= NEEDS_ROOM:
            self._grow(came_to)

    def _grow(self, what: int) -> None:
        core = self.core
        if what == NEEDS_ROOM:
            self.core = core._replace(**self._room(2 * len(core.probe.found)))
        elif what == NEEDS_PASS:
            self.core = core._replace(**self._passes(4 * core.pass_r.found.shape[1]))
        else:
            old = getattr(core, _WINDOWS[what])
            new = larger_kept(old, self._layout) if isinstance(old, Kept) else larger(old, self._layout)
            self.core = core._replace(**{_WINDOWS[what]: new})

    def _room(self, rows: int = FIRST_FOUND) -> dict[str, Any]:
        """For what a probe finds."""
        return {"probe": self._probe(rows)}

    def _passes(self, found: int = together.FIRST_FOUND) -> dict[str, Any]:
        """For what four rows of either stream find in one pass."""
        return {
            name: together.make_pass(self._layout.dimensions, self._key_kind, found)
            for name in ("pass_r", "pass_s")
        }

    def _probe(self, rows: int) -> Probe:
        return probe_room(rows, self._layout.dimensions, self._key_kind)

    @property
    def busy(self) -> bool:
        """Whether it has found pairs that lie in no channel yet."""
        return bool(self._state[SENT_OUT] < self._state[FOUND])

    @property
    def rows_held(self) -> int:
        windows = (one.window if isinstance(one, Kept) else one for one in (self.core.r, self.core.s))
        return int(sum(window.marks[1] - window.marks[0] for window in windows))

    @property
    def compared(self) -> int:
        """Pairs of rows that stood face to face in a window so far, whether a scan or an index looked."""
        return int(self._state[COMPARED])


class ChainCore(SteppedCore):
    """For both handshake joins: what it finds becomes meetings, which are not all sent out at once."""

    def _room(self, rows: int = FIRST_FOUND) -> dict[str, Any]:
        meetings: Words = np.zeros((rows, MEETING_WORDS), np.int64)
        return {"probe": self._probe(rows), "meetings": meetings}


def quiet(channels: list[Channel | Bank], cores: list[SteppedCore]) -> bool:
    """Whether nothing is under way. Threads may be at work meanwhile: what moved while this was looking has
    been sent somewhere."""
    sent = _sent(channels)
    for of in channels:
        if (of.marks[..., SENT] != of.marks[..., TAKEN]).any():
            return False
    return not any(core.busy for core in cores) and sent == _sent(channels)


def _sent(channels: list[Channel | Bank]) -> int:
    return sum(int(of.marks[..., SENT].sum()) for of in channels)
