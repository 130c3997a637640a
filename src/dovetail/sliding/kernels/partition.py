"""CellJoin's two parts: a coordinator that cuts windows into parts for each batch of rows, and workers that
scan them.

Law: the parts of a row's cuts are disjoint and make up exactly the rows of the other window that it may see.

The windows lie in memory that all share. Only the coordinator writes there, and only while all workers have
done what they were given.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.kernels.machine import cycles, load, store
from dovetail.sliding.kernels.channel import (
    Bank,
    Channel,
    all_waiting,
    message,
    of_bank,
    room,
    send,
    slot_to_fill,
    take,
    waiting,
)
from dovetail.sliding.kernels.layout import BLANK, FIRST, FLAGS, KIND, ROW, SEEN, STAMP, TIME, Layout, R
from dovetail.sliding.kernels.probe import narrowed
from dovetail.sliding.kernels.results import send_pair
from dovetail.sliding.kernels.scan import TOGETHER
from dovetail.sliding.kernels.stepping import (
    BLOCKED,
    COMPARED,
    FOUND,
    IDLE,
    LINE,
    NEEDS_PASS,
    NEEDS_ROOM,
    NEEDS_WINDOW_R,
    NEEDS_WINDOW_S,
    NEEDS_WINDOWS,
    NUMBER,
    OWN,
    SENT_OUT,
    TAKEN_AT,
    WORKED,
    Rules,
    until_stopped,
)
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    END,
    Probe,
    SubWindow,
    Words,
    expire,
    insert,
    scan_positions,
    size,
    take_box,
)
from dovetail.sliding.kernels.together import (
    AHEAD,
    COUNT,
    LEAST,
    ROWS_AT,
    Pass,
    found_between,
    scan_together,
)

# What a task says after the row: the positions to scan, and which windows are meant, as they are replaced
# when they grow.
TASK_BEGIN, TASK_END, TASK_WINDOWS = 0, 1, 2
TASK_WORDS = 3

WINDOWS = OWN  # of both: which windows they have; a worker may have those from before they grew

# The coordinator's own state.
PHASE, BATCH, NEXT_ROW, NEXT_WORKER = OWN + 1, OWN + 2, OWN + 3, OWN + 4
GATHERING, DEALING, AWAITING = 0, 1, 2

SCANNED = OWN + 1  # a worker's: whether the task at hand is


class CutPlan(NamedTuple):
    """Rows that are dealt out together, rows of the smallest piece of a window, and who has done how much."""

    batch_rows: int
    basic_rows: int
    given: Words  # tasks given to each worker
    done: Words  # and done by it, a cache line each


class CoordinatorCore(NamedTuple):
    """The coordinator's."""

    r: SubWindow
    s: SubWindow
    plan: CutPlan
    state: Words


class CoordinatorLinks(NamedTuple):
    inbox: Channel
    tasks: Bank


class WorkerCore(NamedTuple):
    """A worker's. The windows are the coordinator's."""

    r: SubWindow
    s: SubWindow
    probe: Probe
    pass_r: Pass
    pass_s: Pass
    plan: CutPlan
    state: Words


class WorkerLinks(NamedTuple):
    inbox: Channel
    out: Channel


@inner_borrowing_kernel
def position_of(window: SubWindow, row: int) -> int:
    """The first position with this row or a later one."""
    low, high, mask = window.marks[BEGIN], window.marks[END], window.rows.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if window.rows[middle & mask] < row:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing_kernel
def run_coordinator(
    core: CoordinatorCore, links: CoordinatorLinks, rules: Rules, budget: int, stop: Words
) -> int:
    """A batch at a time, whatever the budget, until `stop` or a longer pause; what it came to."""
    return until_stopped(_coordinate, core, links, rules, budget, stop)


@inner_borrowing_kernel
def _coordinate(core: CoordinatorCore, links: CoordinatorLinks, rules: Rules, budget: int) -> int:
    """Wait until the last batch is done, take the next one into the windows, deal it out; what it came to.

    In this order, so that where nobody has a thread of his own a batch takes one round of steps, not two."""
    plan, state, inbox, tasks = core.plan, core.state, links.inbox, links.tasks
    worked = False
    if state[PHASE] == AWAITING:
        for worker in range(tasks.slots.shape[0]):
            if load(plan.done, worker * LINE) != plan.given[worker]:
                return IDLE
        take(inbox, state[BATCH])
        state[PHASE] = GATHERING
        worked = True
    if state[PHASE] == GATHERING:
        came_to = _gather(core, inbox, rules)
        if came_to != WORKED:
            return WORKED if worked and came_to == IDLE else came_to
        worked = True
    while state[NEXT_ROW] < state[BATCH]:
        row = message(inbox, state[NEXT_ROW])
        if not row[FLAGS] & BLANK:
            while state[NEXT_WORKER] < tasks.slots.shape[0]:
                if not _deal(core.s if row[KIND] == R else core.r, row, tasks, plan, rules, state):
                    return WORKED if worked else BLOCKED
                state[NEXT_WORKER] += 1
                worked = True
        state[NEXT_WORKER] = 0
        state[NEXT_ROW] += 1
    state[PHASE] = AWAITING
    return WORKED


@inner_borrowing_kernel
def _gather(core: CoordinatorCore, inbox: Channel, rules: Rules) -> int:
    """Expire what the first row of the batch cannot see, then insert them all: what each may see is in its
    message."""
    rows, r, s, state = min(all_waiting(inbox), core.plan.batch_rows), core.r, core.s, core.state
    if rows == 0:
        return IDLE
    row = message(inbox, 0)
    came_r, came_s = (row[ROW], row[SEEN]) if row[KIND] == R else (row[SEEN], row[ROW])
    expire(r, rules.rows_r, rules.time_r, came_r, row[TIME])
    expire(s, rules.rows_s, rules.time_s, came_s, row[TIME])
    if size(r) + rows > r.rows.shape[0]:
        return NEEDS_WINDOW_R
    if size(s) + rows > s.rows.shape[0]:
        return NEEDS_WINDOW_S
    for n in range(rows):
        row = message(inbox, n)
        if not row[FLAGS] & BLANK:
            insert(r if row[KIND] == R else s, row, rules.layout)
    state[BATCH], state[NEXT_ROW], state[NEXT_WORKER], state[PHASE] = rows, 0, 0, DEALING
    return WORKED


@inner_borrowing_kernel
def _deal(other: SubWindow, row: Words, tasks: Bank, plan: CutPlan, rules: Rules, state: Words) -> bool:
    """Give the next worker its part: as many whole basic windows as the others, or one less. Whether there
    was room."""
    worker, words = state[NEXT_WORKER], rules.layout.words
    begin, end = position_of(other, row[FIRST]), position_of(other, row[SEEN])
    pieces = -(-(end - begin) // plan.basic_rows)
    workers = tasks.slots.shape[0]
    first = begin + plan.basic_rows * (pieces * worker // workers)
    last = min(begin + plan.basic_rows * (pieces * (worker + 1) // workers), end)
    if first >= last:
        return True
    to = of_bank(tasks, worker)
    if room(to) == 0:
        return False
    task = slot_to_fill(to, 0)
    for word in range(words):
        task[word] = row[word]
    task[words + TASK_BEGIN] = first
    task[words + TASK_END] = last
    task[words + TASK_WINDOWS] = state[WINDOWS]
    plan.given[worker] += 1
    send(to, 1)
    return True


@borrowing_kernel
def run_worker(core: WorkerCore, links: WorkerLinks, rules: Rules, budget: int, stop: Words) -> int:
    """Up to `budget` tasks at a time, until `stop` or a longer pause; what it came to."""
    return until_stopped(_work, core, links, rules, budget, stop)


@inner_borrowing_kernel
def _work(core: WorkerCore, links: WorkerLinks, rules: Rules, budget: int) -> int:
    """Do up to `budget` tasks; what it came to."""
    state, done, inbox, words = core.state, core.plan.done, links.inbox, rules.layout.words
    worked = False
    for _ in range(budget):
        if waiting(inbox) == 0:
            return WORKED if worked else IDLE
        task = message(inbox, 0)
        if task[words + TASK_WINDOWS] != state[WINDOWS]:
            return NEEDS_WINDOWS
        other = core.s if task[KIND] == R else core.r
        if not state[SCANNED]:
            if rules.timed:
                state[TAKEN_AT] = cycles()
            begin, end = task[words + TASK_BEGIN], task[words + TASK_END]
            made = core.pass_r if task[KIND] == R else core.pass_s
            found = _scan(other, task, inbox, rules, made, core.probe)
            if found < 0:
                return NEEDS_ROOM if found == -1 else NEEDS_PASS
            state[COMPARED] += end - begin
            state[FOUND], state[SENT_OUT], state[SCANNED] = found, 0, 1
        if not _tell(other, task, links.out, rules, core.probe, state):
            return WORKED if worked else BLOCKED
        state[SCANNED] = 0
        take(inbox, 1)
        store(done, state[NUMBER] * LINE, done[state[NUMBER] * LINE] + 1)
        worked = True
    return WORKED


@inner_borrowing_kernel
def _scan(other: SubWindow, task: Words, inbox: Channel, rules: Rules, made: Pass, probe: Probe) -> int:
    """What the row of a task finds in its part, by a pass with other tasks that wait or alone. -1 if there is
    no room, -3 if the pass needs more."""
    words = rules.layout.words
    begin, end = task[words + TASK_BEGIN], task[words + TASK_END]
    found = -2
    if rules.together:
        found = found_between(task, made, probe, begin, end)
        if found == -2:
            found = _pass(other, task, inbox, made, rules.layout)
            if found == 0:
                found = found_between(task, made, probe, begin, end)
    if found == -2:
        take_box(task, rules.layout, probe.low, probe.width)
        found = scan_positions(other, begin, end, probe, 0)
    return narrowed(other, task, rules.layout, rules.residual, probe, found)


@inner_borrowing_kernel
def _pass(other: SubWindow, task: Words, inbox: Channel, made: Pass, layout: Layout) -> int:
    """One pass for tasks that wait, over the parts of all: rows of a batch differ little in what they may
    see. 0, or -2 if too few wait, or -3 if the pass needs more room.

    A batch changes its windows before it is dealt out, and the next one waits for all its tasks. So what a
    pass has found stays true while any of its tasks waits."""
    words, side, made.state[COUNT] = layout.words, task[KIND], 0
    begin, end = task[words + TASK_BEGIN], task[words + TASK_END]
    chosen, ahead, there = 0, 0, min(all_waiting(inbox), AHEAD)
    while chosen < TOGETHER and ahead < there:
        other_task = message(inbox, ahead)
        ahead += 1
        if other_task[KIND] == side:
            take_box(other_task, layout, made.low[chosen], made.width[chosen])
            made.state[ROWS_AT + chosen] = other_task[ROW]
            begin = min(begin, other_task[words + TASK_BEGIN])
            end = max(end, other_task[words + TASK_END])
            chosen += 1
    if chosen < LEAST:
        return -2
    return 0 if scan_together(other, made, chosen, begin, end) else -3


@inner_borrowing_kernel
def _tell(other: SubWindow, task: Words, out: Channel, rules: Rules, probe: Probe, state: Words) -> bool:
    """Send what was found as far as there is room; whether all is out."""
    mask, side, order = other.rows.shape[0] - 1, task[KIND], task[ROW] + task[SEEN]
    while state[SENT_OUT] < state[FOUND]:
        if room(out) == 0:
            return False
        met = other.rows[probe.found[state[SENT_OUT]] & mask]
        r, s = (task[ROW], met) if side == R else (met, task[ROW])
        send_pair(out, side, r, s, order, 0, rules.timed, task[STAMP], state[TAKEN_AT])
        state[SENT_OUT] += 1
    return True
