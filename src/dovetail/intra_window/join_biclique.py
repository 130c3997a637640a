"""JB, the join-biclique: keys are dealt out over groups of threads.

Idea     A router sends a row to the group of its key. In a group, left rows go to every thread, right rows
         to one.
Paper    Section 3.2.2, figure 2b, and section 5.5, "Varying group size"; Lin et al., SIGMOD 2015.
Vocabulary  core group -> group; g -> `Knobs.group_size`.
Differs  There is no router thread and no record of where rows were sent, which the paper found to be most
         of JB's cost: every thread looks at the keys of a block and chooses its own. The group of a key is
         a function of it, so nothing needs remembering. Threads that do not fill a group join the others.
Law      Every pair of rows with equal keys meets in one thread.
Cost     Every thread reads every key; with groups of one nothing is replicated, but a hot key has one group.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.route import grouped
from dovetail.intra_window.knobs import Knobs


@dataclass(frozen=True)
class JoinBiclique:
    threads: int
    knobs: Knobs

    @property
    def groups(self) -> int:
        return max(1, self.threads // self.knobs.group_size)

    def members(self, group: int) -> int:
        return len(range(group, self.threads, self.groups))

    def share(self, side: int, thread: int) -> float:
        parts = 1 if side == 0 else self.members(thread % self.groups)
        return 1 / (self.groups * parts)

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int:
        group = thread % self.groups
        parts = 1 if side == 0 else self.members(group)
        part = 0 if side == 0 else thread // self.groups
        return grouped(keys, start, stop, self.groups, group, parts, part, out)
