"""Which task has which rows of a join: a task has a range of buckets, and its part of the hot keys.

A hot key would keep one task busy while the others wait. Its rows on one side are dealt out to all tasks by
row number, and its rows on the other side go to every task, so that each pair still meets in exactly one.

        left    ●●●●●●  dealt out            task 0   ● ●    × ▲▲
        right   ▲▲      copied to all   ─►   task 1    ● ●   × ▲▲
                                             task 2     ● ●  × ▲▲

A theta join has no keys: there all rows are treated as one hot key (`dealt`), or, where every pair may come
out from anywhere, the rows of both sides are dealt out and each task looks at all new ones (SplitJoin).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")


class HotKey(NamedTuple):
    """A key by its hash, and the side whose rows are dealt out."""

    hash: int
    dealt: Side

    @property
    def tag(self) -> int:
        """The upper half of the hash, as rings keep it."""
        return (self.hash >> 32) & 0xFFFFFFFF


@dataclass(frozen=True)
class Share:
    """The share of one task: buckets `low` to `high - 1`, and its part of hot keys. With `dealt`, buckets do
    not count: the rows of these sides are dealt out by number, and those of the other are every task's."""

    task: int
    tasks: int
    buckets: int
    hot: tuple[HotKey, ...] = ()
    dealt: tuple[Side, ...] | None = None

    @property
    def low(self) -> int:
        """Neighbouring buckets, so that a segment gives them as one slice."""
        # `high` of a task is `low` of the next one, by the same expression, so each bucket is in one share,
        # whatever the remainder. With a step rounded once, `task * (buckets // tasks)`, the last buckets
        # would belong to no task.
        return self.task * self.buckets // self.tasks

    @property
    def high(self) -> int:
        return (self.task + 1) * self.buckets // self.tasks

    def is_home(self, key: HotKey) -> bool:
        """The key would be this task's if it were not hot."""
        # As slicers put rows into buckets: the whole hash, modulo. One task says yes. Were it another rule
        # than theirs, the task that has the key's bucket would keep the rows that are dealt to the others as
        # well, and pairs would come out twice.
        return self.low <= key.hash % self.buckets < self.high

    def holds(self, side: Side, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows of a side this task stores, where they are dealt out."""
        assert self.dealt is not None
        return self.counts(rows) if side in self.dealt else np.ones(len(rows), np.bool_)

    def counts(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows this task counts: each is counted by one, however many have it."""
        # By number, because that is in the log: a step that runs again, or a rebuild in another process,
        # deals the same rows to the same tasks. Anything that depended on order of arrival or on load would
        # deal a row twice, or to nobody, after a crash. Another number of tasks deals otherwise, and then
        # state is rebuilt.
        mine: NDArray[np.bool_] = rows % self.tasks == self.task
        return mine

    @property
    def every_row(self) -> Share:
        """The same task, looking at all rows of both sides."""
        # An empty tuple, not None: rows are still taken by number and not by bucket, but no side is dealt
        # out.
        return replace(self, dealt=())
