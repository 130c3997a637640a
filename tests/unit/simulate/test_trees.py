"""The rings and loops of the trees' kernel against the same law as a recursion that forgets nothing."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.simulate.kernels.slices import Slices
from dovetail.simulate.kernels.trees import Shape, TreeRows, Work, pass_trees
from dovetail.simulate.trees import nodes


def recursive(rows: TreeRows, shape: Shape, work: Work) -> tuple[list[float], list[float], list[float]]:
    """Mean start, mean end and time out of every row; no input is refused."""
    cores, depth, top = int(shape.up[0]), len(shape.down) - 1, len(shape.up) - 1
    count, queue = len(rows.arrival), shape.queue
    of_stream = [[n for n in range(count) if rows.stream[n] == s] for s in range(2)]
    place = {n: i for s in range(2) for i, n in enumerate(of_stream[s])}
    size = max(1, work.group)
    groups = [[part[i : i + size] for i in range(0, len(part), size)] for part in of_stream]

    def children(j: int, fan: int, below: int) -> range:
        return range(j * fan, min((j + 1) * fan, below))

    @lru_cache(None)
    def begun(level: int, j: int, m: int) -> float:
        came = rows.arrival[m] if level == 0 else writes(level - 1, j // shape.fan_out, m)[j % shape.fan_out]
        before = 0.0 if m == 0 else end(j, m - 1) if level == depth else writes(level, j, m - 1)[-1]
        return max(came, before)

    @lru_cache(None)
    def writes(level: int, j: int, m: int) -> tuple[float, ...]:
        at, written = begun(level, j, m) + (work.root if level == 0 else 0.0), []
        for child in children(j, shape.fan_out, int(shape.down[level + 1])):
            at = max(at, begun(level + 1, child, m - queue) if m >= queue else 0.0) + work.hop
            at += work.far_down[int(shape.down[: level + 1].sum()) + child]
            written.append(at)
        return tuple(written)

    @lru_cache(None)
    def end(core: int, m: int) -> float:
        s, group = rows.stream[m], place[m] // size
        at = begun(depth, core, m) + rows.work[m] + (work.store if place[m] % cores == core else 0.0)
        if cores > 1 and group >= queue:
            at = max(at, merged(s, 1, core // shape.fan_in, group - queue))
        return at

    def leaves(level: int, j: int) -> int:
        if level == 0:
            return 1
        return sum(leaves(level - 1, child) for child in children(j, shape.fan_in, int(shape.up[level - 1])))

    @lru_cache(None)
    def merged(s: int, level: int, j: int, group: int) -> float:
        if level == 0:
            return end(j, groups[s][group][-1])
        at = merged(s, level, j, group - 1) if group else 0.0
        below = children(j, shape.fan_in, int(shape.up[level - 1]))
        found = sum(rows.merge[n] for n in groups[s][group])
        ready = [merged(s, level - 1, child, group) for child in below]
        if work.group:
            for child, when in zip(below, ready, strict=True):
                at = max(at + found * leaves(level - 1, child), when) + work.star
        else:
            at = max(*ready, max(at, min(ready)) + found * leaves(level, j))
        at += work.hop + work.far_up[int(shape.up[1:level].sum()) + j]
        if level < top and group >= queue:
            at = max(at, merged(s, level + 1, j // shape.fan_in, group - queue))
        return at

    out, combined = [0.0] * count, 0.0
    whole = sorted(
        (part[-1], s, i) for s in range(2) for i, part in enumerate(groups[s]) if len(part) == size
    )
    left = [(0, s, i) for s in range(2) for i, part in enumerate(groups[s]) if len(part) < size]
    for _, s, i in whole + left:
        root = merged(s, top, 0, i)
        found = sum(rows.merge[n] for n in groups[s][i])
        combined = max(root, combined) + work.star + found * cores if cores > 1 else root
        for n in groups[s][i]:
            out[n] = combined
    starts = [float(np.mean([begun(depth, core, m) for core in range(cores)])) for m in range(count)]
    ends = [float(np.mean([end(core, m) for core in range(cores)])) for m in range(count)]
    return starts, ends, out


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 1 << 30),
    cores=st.integers(1, 11),
    count=st.integers(1, 40),
    fan_out=st.integers(2, 4),
    fan_in=st.integers(2, 4),
    queue=st.integers(1, 4),
    group=st.integers(0, 4),
    spread=st.sampled_from([0.5, 3.0, 20.0]),
)
def test_the_kernel_keeps_the_law(
    seed: int, cores: int, count: int, fan_out: int, fan_in: int, queue: int, group: int, spread: float
) -> None:
    random = np.random.default_rng(seed)
    rows = TreeRows(
        np.cumsum(random.exponential(spread, count)),
        random.integers(0, 2, count),
        random.exponential(2.0, count),
        random.exponential(0.3, count),
    )
    shape = Shape(nodes(cores, fan_out)[::-1].copy(), nodes(cores, fan_in), fan_out, fan_in, queue, 1000)
    star = float(random.random()) if group else 0.0
    down, up = nodes(cores, fan_out), nodes(cores, fan_in)
    work = Work(
        float(random.random()),
        float(random.random()),
        random.random(int(down.sum())),
        random.random(max(1, int(up[1:].sum()))),
        float(random.random()),
        star,
        group,
    )
    alone = np.ones(cores + 1)
    found = pass_trees(rows, shape, work, Slices(alone, alone, np.zeros(cores + 1)))
    starts, ends, out = recursive(rows, shape, work)
    assert not found.lost.any()
    assert found.start.tolist() == pytest.approx(starts)
    assert found.end.tolist() == pytest.approx(ends)
    assert found.out.tolist() == pytest.approx(out)
