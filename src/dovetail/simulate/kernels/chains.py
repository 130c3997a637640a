"""Rows of two streams through a chain of cores in opposite directions.

A core takes from its two queues in turn (handshake join, figure 9), and which row comes next depends on when
its neighbours are done: here times decide the order, so this is an event loop: the core that looks at its
queues first goes first.

A core takes a row only if the queue that it will go on to has room. The two directions wait for no one but
themselves, and the last core of each passes rows out of the chain: so no chain can lock itself up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel
from dovetail.simulate.kernels.slices import Slices, finished


class Walk(NamedTuple):
    """`arrival[s, n]` of row n of stream s, and what it costs each core it comes to."""

    arrival: NDArray[np.float64]
    work: NDArray[np.float64]
    """The scan and its matches."""
    before: NDArray[np.float64]
    """By stream and core. Taking it in; with `fast`, passing it on too."""
    after: NDArray[np.float64]
    """By stream: what the row's messages of other kinds cost (acknowledgement, expiry)."""
    store: float
    hop: float
    """From the driver into the first queue."""
    fast: bool
    """Passed on before the scan and stored in one core (low-latency), or after it and stored in each."""
    queue: int
    input_rows: int


class Walked(NamedTuple):
    """By stream and row: lost or not; mean over cores of the scans' starts and ends; mean of the
    starts over the first half of its way; the last end."""

    lost: NDArray[np.bool_]
    start: NDArray[np.float64]
    half_start: NDArray[np.float64]
    end: NDArray[np.float64]
    last_end: NDArray[np.float64]


@kernel
def walk_chain(walk: Walk, slices: Slices, cores: int) -> Walked:
    count = walk.arrival.shape[1]
    arrival, work, queue = walk.arrival, walk.work, walk.queue
    lost = np.zeros((2, count), np.bool_)
    start = np.zeros((2, count))
    half_start = np.zeros((2, count))
    end = np.zeros((2, count))
    last_end = np.zeros((2, count))
    ring = 1
    while ring < max(queue, walk.input_rows):
        ring *= 2
    wrap = ring - 1
    # By stream and place on its way: rows that came and that were taken so far, and when each can be taken.
    came = np.zeros((2, cores), np.int64)
    went = np.zeros((2, cores), np.int64)
    ready = np.zeros((2, cores, ring))
    row_of = np.zeros((2, count), np.int64)
    given = np.zeros(2, np.int64)
    free = np.zeros(cores)
    turn = np.zeros(cores, np.int64)
    half = (cores + 1) // 2
    # The agenda: a heap of cores and of the two drivers, by when each looks at its queues next.
    due = np.zeros(cores + 2)
    spot = np.full(cores + 2, -1, np.int64)
    heap = np.zeros(cores + 2, np.int64)
    size = 0
    for s in range(2):
        size = _look(due, spot, heap, size, cores + s, arrival[s, 0])
    while size > 0:
        core = heap[0]
        size = _drop_first(due, spot, heap, size)
        now = due[core]
        if core >= cores:
            s = core - cores
            n = given[s]
            given[s] += 1
            if given[s] < count:
                size = _look(due, spot, heap, size, core, arrival[s, n + 1])
            if came[s, 0] - went[s, 0] >= walk.input_rows:
                lost[s, n] = True
                continue
            row_of[s, came[s, 0]] = n
            ready[s, 0, came[s, 0] & wrap] = now + walk.hop
            came[s, 0] += 1
            entry = 0 if s == 0 else cores - 1
            if free[entry] <= now + walk.hop:
                size = _look(due, spot, heap, size, entry, now + walk.hop)
            continue
        if free[core] > now:
            continue
        s = turn[core]
        if not _can_take(came, went, ready, queue, s, core if s == 0 else cores - 1 - core, now):
            s = 1 - s
            if not _can_take(came, went, ready, queue, s, core if s == 0 else cores - 1 - core, now):
                # A row that is on its way is looked for when it is there; a full queue wakes when it is not.
                for s in range(2):
                    place = core if s == 0 else cores - 1 - core
                    message = went[s, place]
                    if message < came[s, place] and ready[s, place, message & wrap] > now:
                        size = _look(due, spot, heap, size, core, ready[s, place, message & wrap])
                continue
        place = core if s == 0 else cores - 1 - core
        step = 1 if s == 0 else -1
        message = went[s, place]
        was_full = came[s, place] - message >= queue
        went[s, place] += 1
        turn[core] = 1 - s
        if place > 0 and was_full and free[core - step] <= now:
            size = _look(due, spot, heap, size, core - step, now)
        row = row_of[s, message]
        on, period, phase = slices.on[core], slices.period[core], slices.phase[core]
        begin = now
        if not walk.fast or place + 1 < cores:
            begin = finished(now, walk.before[s, core], on, period, phase)
        todo = work[s, row]
        if not walk.fast or message % cores == place:
            todo += walk.store
        scanned = finished(begin, todo, on, period, phase)
        done = finished(scanned, walk.after[s], on, period, phase)
        start[s, row] += begin / cores
        if place < half:
            half_start[s, row] += begin / half
        end[s, row] += scanned / cores
        last_end[s, row] = max(last_end[s, row], scanned)
        if place + 1 < cores:
            passed_on = begin if walk.fast else done
            ready[s, place + 1, came[s, place + 1] & wrap] = passed_on
            came[s, place + 1] += 1
            if free[core + step] <= passed_on:
                size = _look(due, spot, heap, size, core + step, passed_on)
        free[core] = done
        size = _look(due, spot, heap, size, core, done)
    return Walked(lost, start, half_start, end, last_end)


@kernel
def _can_take(
    came: NDArray[np.int64],
    went: NDArray[np.int64],
    ready: NDArray[np.float64],
    queue: int,
    s: int,
    place: int,
    now: float,
) -> bool:
    message = went[s, place]
    wrap = ready.shape[2] - 1
    if message >= came[s, place] or ready[s, place, message & wrap] > now:
        return False
    return bool(place + 1 == came.shape[1] or came[s, place + 1] - went[s, place + 1] < queue)


@kernel
def _look(
    due: NDArray[np.float64],
    spot: NDArray[np.int64],
    heap: NDArray[np.int64],
    size: int,
    core: int,
    time: float,
) -> int:
    """The core looks at `time`, or earlier if it was going to: it is on the agenda once. Returns its size.
    Of cores with the same time the lower one goes first, so that a run is the same every time."""
    at = spot[core]
    if at < 0:
        at = size
        size += 1
    elif due[core] <= time:
        return size
    due[core] = time
    while at > 0:
        up = (at - 1) // 2
        above = heap[up]
        if due[above] < time or (due[above] == time and above < core):
            break
        heap[at] = above
        spot[above] = at
        at = up
    heap[at] = core
    spot[core] = at
    return size


@kernel
def _drop_first(due: NDArray[np.float64], spot: NDArray[np.int64], heap: NDArray[np.int64], size: int) -> int:
    """Off the agenda with the core that looks first. Returns the agenda's size."""
    spot[heap[0]] = -1
    size -= 1
    if size == 0:
        return size
    last = heap[size]
    time = due[last]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        low = heap[child]
        if child + 1 < size:
            other = heap[child + 1]
            if due[other] < due[low] or (due[other] == due[low] and other < low):
                child += 1
                low = other
        if time < due[low] or (time == due[low] and last < low):
            break
        heap[at] = low
        spot[low] = at
        at = child
    heap[at] = last
    spot[last] = at
    return size
