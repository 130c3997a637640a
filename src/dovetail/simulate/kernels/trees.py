"""Rows down a tree of distributors, through k cores side by side, and up a tree of mergers.

Every server is a FIFO with a bounded queue before it, and the flow has one direction. So no event queue is
needed: with rows in the order of their arrival, each time is a maximum of times that are known already, plus
work (a max-plus recurrence). Row `m` finds room in a queue of `q` when row `m - q` has been taken out of it.

    start(core, m) = max(reached(core, m), end(core, m - 1))
    write(node, child, m) = max(written so far, start(child, m - q)) + hop

Punctuation (SplitJoin, algorithm 5): a merger reads its first child up to the star, then the next, and passes
on one star. Between stars rows wait for each other: they come out together. Without stars it passes on
what is there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel
from dovetail.simulate.kernels.slices import Slices, finished


class TreeRows(NamedTuple):
    """Rows of both streams in order of arrival, and the work each of them is."""

    arrival: NDArray[np.float64]
    stream: NDArray[np.int64]
    work: NDArray[np.float64]
    """In every core: the scan of its sub-window, its share of matches, its stars."""
    merge: NDArray[np.float64]
    """In a merger, for the matches of one core."""


class Shape(NamedTuple):
    """Nodes by level: `down` from the root of the distributors to the cores, `up` from the cores to the last
    merger. Thread number k represents all threads that are not join cores."""

    down: NDArray[np.int64]
    up: NDArray[np.int64]
    fan_out: int
    fan_in: int
    queue: int
    input_rows: int


class Work(NamedTuple):
    root: float
    hop: float
    far_down: NDArray[np.float64]
    """What a message to each node costs in addition, from the root of the distributors to the cores."""
    far_up: NDArray[np.float64]
    """What a message from each merger to the next costs in addition."""
    store: float
    star: float
    """For all stars that one core emits for a row, or for a group of rows."""
    group: int
    """Rows of a stream between two stars; 0: no stars."""


class Passed(NamedTuple):
    """When each row began and ended in the cores (means over them), and came out. Lost rows have no times."""

    lost: NDArray[np.bool_]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    out: NDArray[np.float64]


class Mergers(NamedTuple):
    """State of both merger trees (one a stream), nodes numbered from the first level above the cores."""

    free: NDArray[np.float64]
    merged: NDArray[np.float64]
    groups: NDArray[np.int64]
    leaves: NDArray[np.float64]
    """Cores below each node, cores themselves first."""
    ready: NDArray[np.float64]
    combined: NDArray[np.float64]


@kernel
def pass_trees(rows: TreeRows, shape: Shape, work: Work, slices: Slices) -> Passed:
    count = len(rows.arrival)
    passed = Passed(np.zeros(count, np.bool_), np.zeros(count), np.zeros(count), np.zeros(count))
    depth = len(shape.down) - 1
    cores = shape.down[depth]
    first = np.zeros(depth + 1, np.int64)
    for level in range(depth):
        first[level + 1] = first[level] + shape.down[level]
    nodes = first[depth] + cores
    reach = np.zeros(nodes)
    free = np.zeros(nodes)
    begun = np.zeros((nodes, shape.queue))
    entered = np.zeros(shape.input_rows)
    ends = np.zeros((2, cores))
    stored = np.zeros(2, np.int64)
    mergers = _mergers(shape)
    pending = np.zeros(2)
    waiting = np.zeros((2, max(1, work.group)), np.int64)
    waits = np.zeros(2, np.int64)
    on, period, phase = slices.on[cores], slices.period[cores], slices.phase[cores]
    m = 0
    for n in range(count):
        arrival = rows.arrival[n]
        if m >= shape.input_rows and entered[m % shape.input_rows] > arrival:
            passed.lost[n] = True
            continue
        slot = m % shape.queue
        reach[0] = arrival
        for level in range(depth):
            for j in range(shape.down[level]):
                node = first[level] + j
                at = max(reach[node], free[node])
                begun[node, slot] = at
                if level == 0:
                    at = finished(at, work.root, on, period, phase)
                for c in range(j * shape.fan_out, min((j + 1) * shape.fan_out, shape.down[level + 1])):
                    child = first[level + 1] + c
                    if m >= shape.queue:
                        at = max(at, begun[child, slot])
                    at = finished(at, work.hop + work.far_down[child], on, period, phase)
                    reach[child] = at
                free[node] = at
        stream = rows.stream[n]
        group = mergers.groups[stream]
        total_start = 0.0
        total_end = 0.0
        for c in range(cores):
            node = first[depth] + c
            start = max(reach[node], free[node])
            begun[node, slot] = start
            todo = rows.work[n]
            if stored[stream] % cores == c:
                todo += work.store
            end = finished(start, todo, slices.on[c], slices.period[c], slices.phase[c])
            if cores > 1 and group >= shape.queue:
                leaf = c // shape.fan_in
                end = max(end, mergers.merged[stream, leaf, group % shape.queue])
            free[node] = end
            ends[stream, c] = end
            total_start += start
            total_end += end
        stored[stream] += 1
        entered[m % shape.input_rows] = begun[0, slot]
        passed.start[n] = total_start / cores
        passed.end[n] = total_end / cores
        pending[stream] += rows.merge[n]
        waiting[stream, waits[stream]] = n
        waits[stream] += 1
        m += 1
        if waits[stream] >= work.group:
            _merge(mergers, shape, work, slices, stream, ends[stream], pending[stream])
            for i in range(waits[stream]):
                passed.out[waiting[stream, i]] = mergers.combined[0]
            pending[stream] = 0.0
            waits[stream] = 0
    for stream in range(2):
        if waits[stream] > 0:
            _merge(mergers, shape, work, slices, stream, ends[stream], pending[stream])
            for i in range(waits[stream]):
                passed.out[waiting[stream, i]] = mergers.combined[0]
    return passed


@kernel
def _mergers(shape: Shape) -> Mergers:
    cores = shape.up[0]
    nodes = 0
    for level in range(1, len(shape.up)):
        nodes += shape.up[level]
    leaves = np.ones(cores + nodes)
    below = 0
    here = cores
    for level in range(1, len(shape.up)):
        for j in range(shape.up[level]):
            leaves[here + j] = 0.0
            for c in range(j * shape.fan_in, min((j + 1) * shape.fan_in, shape.up[level - 1])):
                leaves[here + j] += leaves[below + c]
        below = here
        here += shape.up[level]
    return Mergers(
        np.zeros((2, max(1, nodes))),
        np.zeros((2, max(1, nodes), shape.queue)),
        np.zeros(2, np.int64),
        leaves,
        np.zeros(cores + nodes),
        np.zeros(1),
    )


@kernel
def _merge(
    mergers: Mergers,
    shape: Shape,
    work: Work,
    slices: Slices,
    stream: int,
    ends: NDArray[np.float64],
    matches: float,
) -> None:
    """One group of a stream's rows through its mergers and the combiner; `matches`: work of one core's."""
    cores = shape.up[0]
    group = mergers.groups[stream]
    slot = group % shape.queue
    on, period, phase = slices.on[cores], slices.period[cores], slices.phase[cores]
    for c in range(cores):
        mergers.ready[c] = ends[c]
    below = 0
    here = cores
    for level in range(1, len(shape.up)):
        for j in range(shape.up[level]):
            node = here + j
            at = mergers.free[stream, node - cores]
            lowest = j * shape.fan_in
            highest = min((j + 1) * shape.fan_in, shape.up[level - 1])
            if work.group > 0:
                for c in range(lowest, highest):
                    child = below + c
                    read = finished(at, matches * mergers.leaves[child], on, period, phase)
                    at = finished(max(read, mergers.ready[child]), work.star, on, period, phase)
            else:
                first = mergers.ready[below + lowest]
                last = first
                for c in range(lowest, highest):
                    first = min(first, mergers.ready[below + c])
                    last = max(last, mergers.ready[below + c])
                at = max(last, finished(max(at, first), matches * mergers.leaves[node], on, period, phase))
            at = finished(at, work.hop + work.far_up[node - cores], on, period, phase)
            if level + 1 < len(shape.up) and group >= shape.queue:
                parent = here + shape.up[level] + j // shape.fan_in
                at = max(at, mergers.merged[stream, parent - cores, slot])
            mergers.merged[stream, node - cores, slot] = at
            mergers.free[stream, node - cores] = at
            mergers.ready[node] = at
        below = here
        here += shape.up[level]
    root = mergers.ready[below]
    both = finished(max(root, mergers.combined[0]), work.star + matches * cores, on, period, phase)
    mergers.combined[0] = both if cores > 1 else root
    mergers.groups[stream] += 1
