"""Work that threads share: a list of tasks, each taken once by a thread that is free.

A task is two stretches, `left[r0:r1]` and `right[s0:s1]`, whose rows may match. A *cursor* is where a thread
is in its task, so that one that has filled its chunk of pairs can go on later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel
from dovetail.kernels.machine import atomic_add

R0, R1, S0, S1, TASK_FIELDS = 0, 1, 2, 3, 4
CURSOR_FIELDS = 8
NO_TASK = -1

Tasks = NDArray[np.int64]  # one row a task
Cursor = NDArray[np.int64]
Counter = NDArray[np.int64]


def new_cursor() -> Cursor:
    cursor = np.zeros(CURSOR_FIELDS, np.int64)
    cursor[0] = NO_TASK
    return cursor


def new_counter() -> Counter:
    return np.zeros(1, np.int64)


@kernel
def take(counter: Counter) -> int:
    """The number of the next task that nobody has taken. It may be beyond the last."""
    return atomic_add(counter, 0, 1)
