"""A join core that sees every row: its windows, which grow as they must."""

from __future__ import annotations

from dovetail.sliding.kernels import join_core as kernels
from dovetail.sliding.kernels.channel import Channel
from dovetail.sliding.kernels.join_core import Core, Links
from dovetail.sliding.kernels.subwindow import RUN_ROWS, SubWindow, sub_window
from dovetail.sliding.stepping import SteppedCore, capacity_for
from dovetail.sliding.topology import SlidingJob, empty


class JoinCore(SteppedCore):
    """Core `number` of `job.cores`."""

    kernel = kernels.run

    def __init__(self, job: SlidingJob, number: int, inbox: Channel, out_r: Channel, out_s: Channel) -> None:
        super().__init__(job, number, Links(inbox, out_r, out_s))
        self._state[kernels.RANK] = number
        self.core = Core(
            r=self._window(job, job.left.rows),
            s=self._window(job, job.right.rows),
            state=self._state,
            **self._room(),
            **self._passes(),
        )

    def step(self, budget: int) -> bool:
        # A call of the kernel hands over about thirty arrays, which takes longer than joining a row: a
        # program that reads after each push would pay for it twice.
        return not empty(self.links.inbox) and super().step(budget)

    def _window(self, job: SlidingJob, rows: int | None) -> SubWindow:
        """For a count window the share is known; one by time grows."""
        share = RUN_ROWS if rows is None else -(-rows // job.cores) + job.deal_rows
        return sub_window(self._layout, self._key_kind, capacity_for(share), self._rules.access)
