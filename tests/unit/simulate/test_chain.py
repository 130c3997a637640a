"""The event loop of the chain against an obvious one that looks at every core for each next step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dovetail.simulate.kernels.chains import Walk, walk_chain
from dovetail.simulate.kernels.slices import Slices

Floats = NDArray[np.float64]


def obvious(walk: Walk, cores: int) -> tuple[list[set[int]], Floats, Floats]:
    """Lost rows, and when each scan began and ended: `[stream, row, place]`."""
    count = walk.arrival.shape[1]
    queues: list[list[list[tuple[float, int, int]]]] = [[[] for _ in range(cores)] for _ in range(2)]
    began, ended = np.zeros((2, count, cores)), np.zeros((2, count, cores))
    lost: list[set[int]] = [set(), set()]
    free, turn, arrived, admitted = [0.0] * cores, [0] * cores, [0, 0], [0, 0]
    clock = 0.0
    while True:
        steps = [(walk.arrival[s, arrived[s]], cores + s, s) for s in range(2) if arrived[s] < count]
        for core in range(cores):
            able = []
            for s in (turn[core], 1 - turn[core]):
                place = core if s == 0 else cores - 1 - core
                queue = queues[s][place]
                if queue and (place + 1 == cores or len(queues[s][place + 1]) < walk.queue):
                    able.append((max(free[core], queue[0][0], clock), s))
            if able:
                first = min(time for time, _ in able)
                steps.append((first, core, next(s for time, s in able if time == first)))
        if not steps:
            return lost, began, ended
        clock, core, s = min(steps, key=lambda step: step[:2])
        if core >= cores:
            row = arrived[s]
            arrived[s] += 1
            if len(queues[s][0]) >= walk.input_rows:
                lost[s].add(row)
            else:
                queues[s][0].append((clock + walk.hop, row, admitted[s]))
                admitted[s] += 1
            continue
        place = core if s == 0 else cores - 1 - core
        _, row, number = queues[s][place].pop(0)
        turn[core] = 1 - s
        begin = clock + (walk.before[s, core] if not walk.fast or place + 1 < cores else 0.0)
        stores = not walk.fast or number % cores == place
        scanned = begin + walk.work[s, row] + (walk.store if stores else 0.0)
        free[core] = scanned + walk.after[s]
        began[s, row, place], ended[s, row, place] = begin, scanned
        if place + 1 < cores:
            queues[s][place + 1].append((begin if walk.fast else free[core], row, number))


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 1 << 30),
    cores=st.integers(1, 6),
    rows=st.integers(1, 40),
    queue=st.integers(1, 4),
    input_rows=st.integers(1, 6),
    fast=st.booleans(),
    spread=st.sampled_from([1.0, 5.0, 30.0]),
)
def test_the_event_loop_does_what_the_obvious_one_does(
    seed: int, cores: int, rows: int, queue: int, input_rows: int, fast: bool, spread: float
) -> None:
    random = np.random.default_rng(seed)
    walk = Walk(
        np.cumsum(random.exponential(spread, (2, rows)), axis=1),
        random.exponential(3.0, (2, rows)),
        random.random((2, cores)),
        random.random(2),
        float(random.random()),
        float(random.random()),
        fast,
        queue,
        input_rows,
    )
    alone = np.ones(cores + 1)
    found = walk_chain(walk, Slices(alone, alone, np.zeros(cores + 1)), cores)
    lost, began, ended = obvious(walk, cores)
    assert [set(np.flatnonzero(found.lost[s]).tolist()) for s in range(2)] == lost
    kept = ~found.lost
    half = math.ceil(cores / 2)
    assert found.start[kept] == pytest.approx(began.mean(axis=2)[kept])
    assert found.half_start[kept] == pytest.approx(began[:, :, :half].mean(axis=2)[kept])
    assert found.end[kept] == pytest.approx(ended.mean(axis=2)[kept])
    assert found.last_end[kept] == pytest.approx(ended.max(axis=2)[kept])
