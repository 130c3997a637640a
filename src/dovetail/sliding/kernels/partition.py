"""CellJoin's two parts: a coordinator that cuts windows into parts for each batch of rows, and workers that
scan them.

Law: the parts of a row's cuts are disjoint and make up exactly the rows of the other window that it may see.

The windows lie in memory that all share. Only the coordinator writes there, and only while all workers have
done what they were given.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.atomic import cycles, load, store
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
from dovetail.sliding.kernels.join_core import (
    BLOCKED,
    IDLE,
    NEEDS_ROOM,
    NEEDS_WINDOW_R,
    NEEDS_WINDOW_S,
    STEP_ROWS,
    WORKED,
    Rules,
)
from dovetail.sliding.kernels.layout import (
    BLANK,
    FIRST,
    FLAGS,
    KIND,
    PAIR_FOUND,
    PAIR_GROUP,
    PAIR_IN,
    PAIR_KIND,
    PAIR_ORDER,
    PAIR_R,
    PAIR_S,
    PAIR_TAKEN,
    ROW,
    SEEN,
    STAMP,
    TIME,
    R,
    S,
)
from dovetail.sliding.kernels.patience import FOR_LONG, pause
from dovetail.sliding.kernels.probe import Probe, narrowed, take_box
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    END,
    SubWindow,
    Words,
    expire_rows,
    expire_times,
    insert,
    scan_positions,
    size,
)

# What a task says after the row: the positions to scan, and which windows are meant, as they are replaced
# when they grow.
TASK_BEGIN, TASK_END, TASK_WINDOWS = 0, 1, 2
TASK_WORDS = 3

NEEDS_WINDOWS = 6  # a worker has those from before they grew

# The coordinator's state.
PHASE, BATCH, NEXT_ROW, NEXT_WORKER, WINDOWS = 0, 1, 2, 3, 4
COORDINATOR_WORDS = 8
GATHERING, DEALING, AWAITING = 0, 1, 2

# A worker's state.
FOUND, SENT_OUT, SCANNED, TAKEN_AT, COMPARED, KNOWN_WINDOWS, NUMBER = 0, 1, 2, 3, 4, 5, 6
WORKER_WORDS = 8

LINE = 8


class Plan(NamedTuple):
    """Rows that are dealt out together, rows of the smallest piece of a window, and who has done how much."""

    batch_rows: int
    basic_rows: int
    given: Words  # tasks given to each worker
    done: Words  # and done by it, a cache line each


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


@inner_borrowing_kernel
def _coordinate(
    r: SubWindow, s: SubWindow, inbox: Channel, tasks: Bank, plan: Plan, rules: Rules, state: Words
) -> int:
    """Take a batch into the windows, deal it out, and wait until all is done; what it came to."""
    worked = False
    if state[PHASE] == GATHERING:
        came_to = _gather(r, s, inbox, plan, rules, state)
        if came_to != WORKED:
            return came_to
        worked = True
    if state[PHASE] == DEALING:
        while state[NEXT_ROW] < state[BATCH]:
            row = message(inbox, state[NEXT_ROW])
            if not row[FLAGS] & BLANK:
                while state[NEXT_WORKER] < tasks.slots.shape[0]:
                    if not _deal(s if row[KIND] == R else r, row, tasks, plan, rules, state):
                        return WORKED if worked else BLOCKED
                    state[NEXT_WORKER] += 1
                    worked = True
            state[NEXT_WORKER] = 0
            state[NEXT_ROW] += 1
        state[PHASE] = AWAITING
    for worker in range(tasks.slots.shape[0]):
        if load(plan.done, worker * LINE) != plan.given[worker]:
            return WORKED if worked else IDLE
    take(inbox, state[BATCH])
    state[PHASE] = GATHERING
    return WORKED


@inner_borrowing_kernel
def _gather(r: SubWindow, s: SubWindow, inbox: Channel, plan: Plan, rules: Rules, state: Words) -> int:
    """Expire what the first row of the batch cannot see, then insert them all: what each may see is in its
    message."""
    rows = min(all_waiting(inbox), plan.batch_rows)
    if rows == 0:
        return IDLE
    row = message(inbox, 0)
    came_r, came_s = (row[ROW], row[SEEN]) if row[KIND] == R else (row[SEEN], row[ROW])
    if rules.rows_r >= 0:
        expire_rows(r, came_r - rules.rows_r)
    else:
        expire_times(r, row[TIME] - rules.time_r)
    if rules.rows_s >= 0:
        expire_rows(s, came_s - rules.rows_s)
    else:
        expire_times(s, row[TIME] - rules.time_s)
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
def _deal(other: SubWindow, row: Words, tasks: Bank, plan: Plan, rules: Rules, state: Words) -> bool:
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
def run_coordinator(
    r: SubWindow,
    s: SubWindow,
    inbox: Channel,
    tasks: Bank,
    plan: Plan,
    rules: Rules,
    state: Words,
    budget: int,
    stop: Words,
) -> int:
    """A batch, whatever the budget, or (FOR_LONG) until somebody is needed or there is nothing to do for a
    while."""
    idle = 0
    while True:
        came_to = _coordinate(r, s, inbox, tasks, plan, rules, state)
        if budget != FOR_LONG or came_to >= NEEDS_ROOM:
            return came_to
        idle = 0 if came_to == WORKED else idle + 1
        if load(stop, 0) or (idle and not pause(idle)):
            return IDLE


@inner_borrowing_kernel
def _work(
    r: SubWindow,
    s: SubWindow,
    inbox: Channel,
    out: Channel,
    plan: Plan,
    rules: Rules,
    residual: int,
    probe: Probe,
    state: Words,
    budget: int,
) -> int:
    """Do up to `budget` tasks; what it came to."""
    worked = False
    for _ in range(budget):
        if waiting(inbox) == 0:
            return WORKED if worked else IDLE
        task = message(inbox, 0)
        if task[rules.layout.words + TASK_WINDOWS] != state[KNOWN_WINDOWS]:
            return NEEDS_WINDOWS
        other = s if task[KIND] == R else r
        if not state[SCANNED]:
            if rules.timed:
                state[TAKEN_AT] = cycles()
            found = _scan(other, task, rules, residual, probe)
            if found < 0:
                return NEEDS_ROOM
            state[COMPARED] += task[rules.layout.words + TASK_END] - task[rules.layout.words + TASK_BEGIN]
            state[FOUND], state[SENT_OUT], state[SCANNED] = found, 0, 1
        if not _tell(other, task, out, rules, probe, state):
            return WORKED if worked else BLOCKED
        state[SCANNED] = 0
        take(inbox, 1)
        store(plan.done, state[NUMBER] * LINE, plan.done[state[NUMBER] * LINE] + 1)
        worked = True
    return WORKED


@inner_borrowing_kernel
def _scan(other: SubWindow, task: Words, rules: Rules, residual: int, probe: Probe) -> int:
    layout = rules.layout
    take_box(task, layout, probe.low, probe.width)
    begin, end = task[layout.words + TASK_BEGIN], task[layout.words + TASK_END]
    found = scan_positions(other, begin, end, probe.low, probe.width, probe.found, 0)
    if found <= 0:
        return found
    return narrowed(other, task, task[KIND], layout, residual, probe, found)


@inner_borrowing_kernel
def _tell(other: SubWindow, task: Words, out: Channel, rules: Rules, probe: Probe, state: Words) -> bool:
    """Send what was found as far as there is room; whether all is out."""
    mask = other.rows.shape[0] - 1
    while state[SENT_OUT] < state[FOUND]:
        if room(out) == 0:
            return False
        met = other.rows[probe.found[state[SENT_OUT]] & mask]
        pair = slot_to_fill(out, 0)
        pair[PAIR_KIND] = task[KIND]
        pair[PAIR_R] = task[ROW] if task[KIND] == R else met
        pair[PAIR_S] = task[ROW] if task[KIND] == S else met
        pair[PAIR_ORDER] = task[ROW] + task[SEEN]
        pair[PAIR_GROUP] = 0
        if rules.timed:
            pair[PAIR_IN] = task[STAMP]
            pair[PAIR_TAKEN] = state[TAKEN_AT]
            pair[PAIR_FOUND] = cycles()
        send(out, 1)
        state[SENT_OUT] += 1
    return True


@borrowing_kernel
def run_worker(
    r: SubWindow,
    s: SubWindow,
    inbox: Channel,
    out: Channel,
    plan: Plan,
    rules: Rules,
    residual: int,
    probe: Probe,
    state: Words,
    budget: int,
    stop: Words,
) -> int:
    """Up to `budget` tasks, or (FOR_LONG) until somebody is needed or there is nothing to do for a while."""
    idle = 0
    while True:
        tasks = budget if budget != FOR_LONG else STEP_ROWS
        came_to = _work(r, s, inbox, out, plan, rules, residual, probe, state, tasks)
        if budget != FOR_LONG or came_to >= NEEDS_ROOM:
            return came_to
        idle = 0 if came_to == WORKED else idle + 1
        if load(stop, 0) or (idle and not pause(idle)):
            return IDLE
