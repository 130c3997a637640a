"""A join core that sees every row: its windows, which grow as they must, and its thread's loop."""

from __future__ import annotations

from typing import Any

from dovetail.sliding.kernels import join_core as kernels
from dovetail.sliding.kernels.channel import Channel
from dovetail.sliding.kernels.join_core import Core
from dovetail.sliding.kernels.probe import probe_room
from dovetail.sliding.kernels.subwindow import RUN_ROWS, SubWindow, move, sub_window
from dovetail.sliding.kernels.together import make_pass
from dovetail.sliding.stepping import FIRST_FOUND, SteppedCore
from dovetail.sliding.topology import Job


def capacity_for(rows: int) -> int:
    return max(RUN_ROWS, 1 << max(rows - 1, 0).bit_length())


class JoinCore(SteppedCore):
    """Core `number` of `job.cores`."""

    kernel = staticmethod(kernels.work)

    def __init__(self, job: Job, number: int, inbox: Channel, out_r: Channel, out_s: Channel) -> None:
        self.number = number
        self.inbox, self.out_r, self.out_s = inbox, out_r, out_s
        self._encoding, self._rules = job.encoding, job.rules
        self._residual = job.encoding.residual
        dimensions, kind = self._encoding.layout.dimensions, self._encoding.key_kind
        self.core = Core(
            self._window(job, job.left.rows),
            self._window(job, job.right.rows),
            probe_room(FIRST_FOUND, dimensions, kind),
            make_pass(dimensions, kind),
            make_pass(dimensions, kind),
            kernels.state_of(number, job.cores),
        )

    def _window(self, job: Job, rows: int | None) -> SubWindow:
        """Of a count window the share is known; one by time grows."""
        share = RUN_ROWS if rows is None else -(-rows // job.cores) + 1
        return sub_window(
            self._encoding.layout, self._encoding.key_kind, capacity_for(share), self._encoding.access
        )

    def _arguments(self) -> tuple[Any, ...]:
        return (
            self.core,
            self.inbox,
            self.out_r,
            self.out_s,
            self._rules,
            self._residual,
        )

    @property
    def busy(self) -> bool:
        return False  # a row is taken from the inbox when all that came of it is out

    def _grow(self, what: int) -> None:
        core = self.core
        if what == kernels.NEEDS_ROOM:
            layout = self._encoding.layout
            wider = probe_room(2 * len(core.probe.found), layout.dimensions, self._encoding.key_kind)
            self.core = core._replace(probe=wider)
            return
        if what == kernels.NEEDS_PASS:
            wide = 4 * core.pass_r.found.shape[1]
            layout, kind = self._encoding.layout, self._encoding.key_kind
            self.core = core._replace(
                pass_r=make_pass(layout.dimensions, kind, wide),
                pass_s=make_pass(layout.dimensions, kind, wide),
            )
        elif what == kernels.NEEDS_WINDOW_R:
            self.core = core._replace(r=self._larger(core.r))
        else:
            self.core = core._replace(s=self._larger(core.s))

    def _larger(self, old: SubWindow) -> SubWindow:
        new = sub_window(
            self._encoding.layout, self._encoding.key_kind, 2 * len(old.rows), self._encoding.access
        )
        move(old, new)
        return new

    @property
    def rows_held(self) -> int:
        return int(sum(window.marks[1] - window.marks[0] for window in (self.core.r, self.core.s)))

    @property
    def compared(self) -> int:
        """Pairs of rows that stood face to face in a window so far, whether a scan or an index looked."""
        return int(self.core.state[kernels.COMPARED])
