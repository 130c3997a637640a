"""Rows of two streams through a chain of cores in opposite directions.

A core takes from its two queues in turn (handshake join, figure 9), and which row comes next depends on when
its neighbours are done: here times decide the order, so this is an event loop over a heap of (time, core).

A core takes a row only if the queue that it will go on to has room. The two directions wait for no one but
themselves, and the last core of each passes rows out of the chain: so no chain can lock itself up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel
from dovetail.kernels.simulate.slices import Slices, finished


class Walk(NamedTuple):
    """`arrival[s, n]` of row n of stream s, and what it costs each core it comes to."""

    arrival: NDArray[np.float64]
    work: NDArray[np.float64]
    """The scan and its matches."""
    before: float
    """Taking it in; with `fast`, passing it on too."""
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
    """By stream and row: lost or not; taken in; mean over cores of the scans' starts and ends; mean of the
    starts over the first half of its way; the last end."""

    lost: NDArray[np.bool_]
    taken: NDArray[np.float64]
    start: NDArray[np.float64]
    half_start: NDArray[np.float64]
    end: NDArray[np.float64]
    last_end: NDArray[np.float64]


class Queues(NamedTuple):
    """By stream and place on its way: rows that came and that were taken so far, when each can be taken."""

    came: NDArray[np.int64]
    went: NDArray[np.int64]
    ready: NDArray[np.float64]


class Heap(NamedTuple):
    time: NDArray[np.float64]
    core: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def walk_chain(walk: Walk, slices: Slices, cores: int) -> Walked:
    count = walk.arrival.shape[1]
    walked = Walked(
        np.zeros((2, count), np.bool_),
        np.zeros((2, count)),
        np.zeros((2, count)),
        np.zeros((2, count)),
        np.zeros((2, count)),
        np.zeros((2, count)),
    )
    ring = max(walk.queue, walk.input_rows)
    queues = Queues(
        np.zeros((2, cores), np.int64), np.zeros((2, cores), np.int64), np.zeros((2, cores, ring))
    )
    row_of = np.zeros((2, count), np.int64)
    given = np.zeros(2, np.int64)
    free = np.zeros(cores)
    turn = np.zeros(cores, np.int64)
    half = (cores + 1) // 2
    heap = Heap(np.zeros(8 * cores + 64), np.zeros(8 * cores + 64, np.int64), np.zeros(1, np.int64))
    for s in range(2):
        heap = _push(heap, walk.arrival[s, 0], cores + s)
    while heap.size[0] > 0:
        now, core = _pop(heap)
        if core >= cores:
            s = core - cores
            n = given[s]
            given[s] += 1
            if given[s] < count:
                heap = _push(heap, walk.arrival[s, n + 1], core)
            if queues.came[s, 0] - queues.went[s, 0] >= walk.input_rows:
                walked.lost[s, n] = True
                continue
            row_of[s, queues.came[s, 0]] = n
            queues.ready[s, 0, queues.came[s, 0] % ring] = now + walk.hop
            queues.came[s, 0] += 1
            entry = 0 if s == 0 else cores - 1
            if free[entry] <= now + walk.hop:
                heap = _push(heap, now + walk.hop, entry)
            continue
        if free[core] > now:
            continue
        s = turn[core]
        if not _can_take(queues, walk, s, core if s == 0 else cores - 1 - core, cores, now, ring):
            s = 1 - s
            if not _can_take(queues, walk, s, core if s == 0 else cores - 1 - core, cores, now, ring):
                continue
        place = core if s == 0 else cores - 1 - core
        step = 1 if s == 0 else -1
        message = queues.went[s, place]
        was_full = queues.came[s, place] - message >= walk.queue
        queues.went[s, place] += 1
        turn[core] = 1 - s
        if place > 0 and was_full and free[core - step] <= now:
            heap = _push(heap, now, core - step)
        row = row_of[s, message]
        if place == 0:
            walked.taken[s, row] = now
        begin = now
        if not walk.fast or place + 1 < cores:
            begin = finished(now, walk.before, slices, core)
        todo = walk.work[s, row]
        if not walk.fast or message % cores == place:
            todo += walk.store
        scanned = finished(begin, todo, slices, core)
        done = finished(scanned, walk.after[s], slices, core)
        walked.start[s, row] += begin / cores
        if place < half:
            walked.half_start[s, row] += begin / half
        walked.end[s, row] += scanned / cores
        walked.last_end[s, row] = max(walked.last_end[s, row], scanned)
        if place + 1 < cores:
            passed_on = begin if walk.fast else done
            queues.ready[s, place + 1, queues.came[s, place + 1] % ring] = passed_on
            queues.came[s, place + 1] += 1
            if free[core + step] <= passed_on:
                heap = _push(heap, passed_on, core + step)
        free[core] = done
        heap = _push(heap, done, core)
    return walked


@kernel
def _can_take(queues: Queues, walk: Walk, s: int, place: int, cores: int, now: float, ring: int) -> bool:
    message = queues.went[s, place]
    if message >= queues.came[s, place] or queues.ready[s, place, message % ring] > now:
        return False
    return place + 1 == cores or queues.came[s, place + 1] - queues.went[s, place + 1] < walk.queue


@kernel
def _push(heap: Heap, time: float, core: int) -> Heap:
    """The heap, or a larger one."""
    if heap.size[0] == len(heap.time):
        heap = Heap(
            np.concatenate((heap.time, np.zeros(len(heap.time)))),
            np.concatenate((heap.core, np.zeros(len(heap.core), np.int64))),
            heap.size,
        )
    i = heap.size[0]
    heap.size[0] += 1
    while i > 0:
        up = (i - 1) // 2
        if heap.time[up] < time or (heap.time[up] == time and heap.core[up] <= core):
            break
        heap.time[i] = heap.time[up]
        heap.core[i] = heap.core[up]
        i = up
    heap.time[i] = time
    heap.core[i] = core
    return heap


@kernel
def _pop(heap: Heap) -> tuple[float, int]:
    """The earliest; of equals the lower core, so that a run is the same every time."""
    time, core = heap.time[0], heap.core[0]
    heap.size[0] -= 1
    size = heap.size[0]
    last_time, last_core = heap.time[size], heap.core[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap.time[right] < heap.time[child]
            or (heap.time[right] == heap.time[child] and heap.core[right] < heap.core[child])
        ):
            child = right
        if last_time < heap.time[child] or (last_time == heap.time[child] and last_core <= heap.core[child]):
            break
        heap.time[i] = heap.time[child]
        heap.core[i] = heap.core[child]
        i = child
    heap.time[i] = last_time
    heap.core[i] = last_core
    return time, core
