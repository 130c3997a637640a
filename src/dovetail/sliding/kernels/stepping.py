"""What the kernels of all cores share: the rules of the join, what a step came to, the first words of a
core's state, and how long a core that finds nothing to do keeps trying.

Every core is run by a kernel `run(core, links, rules, budget, stop)`: the core's own memory, its channels,
the rules. One step is a run whose `stop` is set from the beginning. So there is one kernel for both, as
compiling it takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.kernels.flags import inlined_kernel, inner_borrowing_kernel
from dovetail.kernels.machine import LINE_WORDS, doze_us, give_way, load
from dovetail.sliding.kernels.layout import Layout
from dovetail.sliding.kernels.subwindow import Words

# What a step came to. From NEEDS_ROOM on it needs memory, which only Python can make.
IDLE, WORKED, BLOCKED = 0, 1, 2
NEEDS_ROOM, NEEDS_WINDOW_R, NEEDS_WINDOW_S, NEEDS_FLIGHT, NEEDS_WINDOWS, NEEDS_PASS = 3, 4, 5, 6, 7, 8

# A core's state begins with these: its number and how many there are; of the row at hand, how many pairs it
# found, how many of them are out, and when it was taken; pairs of rows that stood face to face so far.
NUMBER, CORES, FOUND, SENT_OUT, TAKEN_AT, COMPARED = 0, 1, 2, 3, 4, 5
OWN = 6  # from here on words are those of a design
STATE_WORDS = 16

LINE = LINE_WORDS  # each word that threads share has a cache line
STEP_ROWS = 64
Step = Callable[[Any, Any, "Rules", int], int]
SPINS, DOZES = 4000, 300  # some milliseconds, in which a row is taken at once; then, more and more lazily


class Rules(NamedTuple):
    """What the join is: windows in rows or in time (-1 where the other holds), and how rows travel."""

    layout: Layout
    access: int
    residual: int  # the address of what checks the conditions as written, or 0
    rows_r: int
    rows_s: int
    time_r: int
    time_s: int
    group: int  # rows of the window that share a punctuation within a probe; 0: there are none
    timed: bool
    block_rows: int  # 1, or the most rows of a sorted block in which rows travel
    deal_rows: int  # rows of a stream in a row that one core of SplitJoin keeps
    together: bool  # whether rows that wait scan a window four at a time


@inlined_kernel
def until_stopped(step: Step, core: Any, links: Any, rules: Rules, budget: int, stop: Words) -> int:
    """Take steps of up to `budget` each, until `stop`, a longer pause, or one that needs memory; what the
    last one came to."""
    idle = 0
    while True:
        came_to = step(core, links, rules, budget)
        idle = _patience(came_to, idle, stop)
        if idle < 0:
            return came_to


@inner_borrowing_kernel
def _patience(came_to: int, idle: int, stop: Words) -> int:
    """After a step: how often the core has looked in vain by now; -1 if it must return to its caller."""
    if came_to >= NEEDS_ROOM or load(stop, 0):
        return -1
    if came_to == WORKED:
        return 0
    if idle < SPINS:
        give_way()
    elif idle < SPINS + DOZES:
        doze_us(min(5 * (idle - SPINS), 1000))
    else:
        return -1
    return idle + 1
