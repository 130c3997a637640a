"""Which bucket group a task of a step joins, on a cluster: one whose index is where the task runs.

Spark gives the tasks of a Python source to whatever executor is free, and the source cannot say which it
would prefer. A group whose task runs on another host than before rebuilds its window there. So a task has no
group beforehand. When it runs, it says which groups have their index on its host, and takes one of them.

    step of groups 0 and 1            host A has the index of 0, host B that of 1
    task 0 on B   takes group 1
    task 1 on B   waits: group 0 is not at home here       (A is busy with something else)
    task 2 on A   takes group 0                            then task 1 has nothing left to do
    task 3        nothing left to do

There are twice as many tasks as groups. So one that would have to take a group away from its host can wait
until a task starts there. After `PATIENCE_S` it takes the group all the same, and rebuilds it: the host may
be lost, or so busy that the group is better off here.

Law: a task of a step, however often it is asked for, joins one group or none, always the same; and when all
tasks of a step have been answered, each group was taken by one of them. Why: answers are given one at a time
and kept, a task gets none only if all groups are taken, and there are at least as many tasks as groups. So
attempts that are repeated, copies that run side by side, and what is computed once more after a loss all give
the rows of the same group.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

PATIENCE_S = 3.0
KEPT_STEPS = 4
"""Spark plans a step when the one before is done. Copies of its tasks may still ask."""


class UnknownStep(LookupError):
    """A task asks about a step that is long over."""


@dataclass
class _Step:
    groups: int
    settled: bool
    taken: dict[int, int | None] = field(default_factory=dict)  # by task
    places: Counter[str] = field(default_factory=Counter)  # groups that each place has taken

    @property
    def free(self) -> list[int]:
        taken = set(self.taken.values())
        return [group for group in range(self.groups) if group not in taken]


class StepClaims:
    """The claims of one join's steps. Any thread may call."""

    def __init__(self, patience_s: float = PATIENCE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s, self._clock = patience_s, clock
        self._steps: dict[int, _Step] = {}
        self._next = 0
        self._running: Counter[str] = Counter()  # tasks at each place now,
        self._slots: Counter[str] = Counter()  # and the most that were seen there at once
        self._changed = threading.Condition()

    def begin(self, groups: int, *, settled: bool) -> int:
        """The number of a new step. `settled`: its groups have their indexes somewhere, unless a host was
        lost."""
        with self._changed:
            self._next += 1
            self._steps[self._next] = _Step(groups, settled)
            self._steps.pop(self._next - KEPT_STEPS, None)
            return self._next

    def started(self, place: str) -> None:
        """A task runs at a place."""
        with self._changed:
            self._running[place] += 1
            self._slots[place] = max(self._slots[place], self._running[place])

    def ended(self, place: str) -> None:
        """It has ended, or was lost."""
        with self._changed:
            self._running[place] -= 1

    def take(self, step: int, task: int, place: str, here: Collection[int]) -> int | None:
        """The group that a task joins; None if it has nothing to do. `here`: the groups whose indexes are at
        its place, as the step needs them."""
        until = self._clock() + self._patience_s
        with self._changed:
            found = self._steps.get(step)
            if found is None:
                raise UnknownStep(step)
            while task not in found.taken:
                free = found.free
                chosen = next((group for group in free if group in here), None)
                if chosen is None and free and (self._may_stray(found, place) or self._clock() >= until):
                    chosen = task if task in free else free[0]
                if chosen is not None or not free:
                    found.taken[task] = chosen
                    found.places[place] += chosen is not None
                    self._changed.notify_all()
                else:
                    self._changed.wait(until - self._clock())
            return found.taken[task]

    def _may_stray(self, step: _Step, place: str) -> bool:
        """A group may be begun here at once: it has no index anywhere, and this place has not taken more
        groups than it can run side by side. Else one that is first in all steps would get them all."""
        return not step.settled and step.places[place] < self._slots[place]
