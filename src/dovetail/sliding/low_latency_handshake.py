"""Low-latency handshake join: rows run through the whole chain at once, and each is kept by one core.

Idea
    Handshake join lets a row wait in every core until others push it on. Here a core sends each row on before
    it does anything else with it, so that all cores see it soon; one core, its home, keeps it. When it has
    left its window, a message tells its home.
Paper
    Roy, Teubner, Gemulla, *Low-Latency Handshake Join*, VLDB 2014, as *SplitJoin* (USENIX ATC 2016) describes
    it (sections 1 and 3, Figure 10) and models it (section 6.1, equations 1 and 2).
Vocabulary
    fast-forwarding -> sending on; tuple monitoring (the model's T_ML) -> copies of rows in flight; central
    coordination -> `ChainEnds`.
Differs
    - Home of row `n` is core `n mod k`: no coordinator assigns it.
    - An expiry names the oldest row or time that is left, and goes past all cores behind the rows that may
      still meet what it expires.
    - That two rows in flight meet once is settled by copies on one side and a number that S rows carry
      (`sliding/kernels/fast_forward.py`).
Law
    The pairs of Kang's procedure, as soon as all rows have run through.
Cost
    k cores hold 1/k of the windows each. A row costs each core a message, and its expiry another; the last
    core sees it k messages later.
"""

from __future__ import annotations

from dovetail.sliding.chain import Chain
from dovetail.sliding.kernels import fast_forward as kernels
from dovetail.sliding.kernels.fast_forward import Core, Links
from dovetail.sliding.kernels.layout import BODY
from dovetail.sliding.kernels.meeting import Kept, kept
from dovetail.sliding.kernels.subwindow import SCAN
from dovetail.sliding.stepping import ChainCore, capacity_for
from dovetail.sliding.topology import SlidingJob

_FIRST_IN_FLIGHT = 64


class RelayCore(ChainCore):
    kernel = kernels.run

    def __init__(self, job: SlidingJob, number: int, links: Links) -> None:
        super().__init__(job, number, links)
        self.core = Core(
            r=self._kept(job.left.rows, job.cores),
            s=self._kept(job.right.rows, job.cores),
            flight=kept(self._layout, self._key_kind, _FIRST_IN_FLIGHT, SCAN, BODY),
            state=self._state,
            **self._room(),
            **self._passes(),
        )

    def _kept(self, rows: int | None, cores: int) -> Kept:
        capacity = capacity_for(-(-(rows or 0) // cores) + 1)
        return kept(self._layout, self._key_kind, capacity, self._rules.access, BODY)


class LowLatencyHandshake(Chain):
    def __init__(self, job: SlidingJob) -> None:
        super().__init__(job, job.rules)
        self.cores: list[RelayCore] = [
            RelayCore(job, number, Links(*self.links_of(number))) for number in range(job.cores)
        ]
