"""Kang's three-step procedure: one core, one row after the other.

Idea
    For each new row: scan the other stream's window for partners; insert the row into its own window;
    invalidate what has expired.
Paper
    Kang, Naughton, Viglas, ICDE 2003, as section 2 of *How Soccer Players Would Do Stream Joins* (SIGMOD
    2011) gives it.
Law
    It defines what every other design must put out: `r` and `s`, `s` having come first, meet if the predicate
    holds and `s` is among the last `rows` rows of its stream, or no older than `time`, when `r` comes; and
    the same with the roles exchanged.
Differs
    Rows expire just before the probe that must not see them, and before their place is needed: nobody can
    tell the difference.
Cost
    A probe reads the whole window (*scan*), or what an index finds.
"""

from __future__ import annotations

from dovetail.sliding.core_part import JoinCore
from dovetail.sliding.release import Stage, taken_from
from dovetail.sliding.topology import SlidingJob, Topology, empty


class Kang(Topology):
    def __init__(self, job: SlidingJob) -> None:
        super().__init__(job)
        self._inlet = job.inbox()
        self.cores = [JoinCore(job, 0, self._inlet, self._outlet, self._outlet)]

    def settled(self) -> bool:
        return empty(self._inlet)

    def flow(self) -> list[Stage]:
        return [taken_from(self._inlet), taken_from(self._outlet)]
