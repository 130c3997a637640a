"""Tasks of a join in processes of their own, as Spark's workers are: fresh, side by side, begun together.

Law: what is timed is only the work. Each process has imported and compiled all it needs before both begin.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import xxhash

from bench.recovery_window import OUTPUT
from dovetail.engine.copying import settle
from dovetail.engine.join_step import run_step
from dovetail.engine.store import StateStore
from dovetail.engine.warm import warm
from dovetail.joins.rows.arrivals import HASH, TIME
from dovetail.joins.step_input import LiveState, Totals
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

P = ParamSpec("P")
R = TypeVar("R")


class Spent(NamedTuple):
    wall_s: float
    cpu_s: float


@dataclass
class Stopwatch:
    """Seconds spent in some methods, by name."""

    spent: dict[str, Spent]

    def around(self, name: str, method: Callable[P, R]) -> Callable[P, R]:
        def timed(*args: P.args, **kwargs: P.kwargs) -> R:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                before = self.spent.get(name, Spent(0.0, 0.0))
                self.spent[name] = Spent(
                    before.wall_s + time.perf_counter() - wall, before.cpu_s + time.process_time() - cpu
                )

        return timed


@dataclass(frozen=True)
class StepOutcome:
    """One task of one step. `digest`: of the rows that came out, in whatever order."""

    resume: Spent
    snapshot: Spent
    step: Spent
    rebuilt: bool
    held_rows: int
    open_rows: int
    out_rows: int
    digest: int


def step_task(config: JoinConfig, task: int, start: JoinOffset, end: JoinOffset) -> StepOutcome:
    """Run a step as a task of Spark does, and look at what its parts take."""
    watch, seen, opened = Stopwatch({}), [], []
    resume, save = StateStore.resume, StateStore.save

    def resumed(self: StateStore, offset: JoinOffset) -> tuple[LiveState, bool]:
        at, rebuilt = resume(self, offset)
        seen.append((rebuilt, at.state.right_rows))
        return at, rebuilt

    def saved(self: StateStore, offset: JoinOffset, at: LiveState, totals: Totals) -> None:
        opened.append(at.state.left_rows)
        save(self, offset, at, totals)

    StateStore.resume = watch.around("resume", resumed)  # type: ignore[method-assign]
    StateStore.save = watch.around("snapshot", saved)  # type: ignore[method-assign]
    try:
        run = watch.around("step", lambda: list(run_step(config, task, start, end, OUTPUT)))
        table = pa.Table.from_batches(run(), OUTPUT)
    finally:
        StateStore.resume, StateStore.save = resume, save  # type: ignore[method-assign]
    settle()
    ((rebuilt, held),) = seen
    spent = watch.spent
    return StepOutcome(
        spent["resume"],
        spent["snapshot"],
        spent["step"],
        rebuilt,
        held,
        opened[0],
        table.num_rows,
        _digest(table),
    )


def _digest(table: pa.Table) -> int:
    """A sum over the rows, so that their order does not matter."""
    columns = [column.fill_null(-1).to_numpy().astype(np.float64) for column in table.columns]
    rows = np.ascontiguousarray(np.stack(columns, axis=1))
    ordered = rows[np.lexsort(rows.T)]
    return xxhash.xxh3_64_intdigest(ordered.tobytes())


def read_task(config: JoinConfig, task: int, held: JoinOffset, *, checked: bool) -> Spent:
    """Merely read what a replay reads: hash and time of a task's right rows, added up. `checked`: every file
    against its checksum, as the product does."""
    share = config.share(task, held)
    category = Category.open(config.home, config.right)
    if not checked:
        from dovetail.log.cache import VERIFIED

        for commit in category.commits(held.right_floor, held.right):
            for info in commit.segments:
                VERIFIED.add(info.name)
    wall, cpu, total = time.perf_counter(), time.process_time(), 0
    for commit in category.commits(held.right_floor, held.right):
        for info in commit.segments:
            segment = category.open_segment(info)
            low, high = segment.bucket_range(share.low, share.high)
            for name in (HASH, TIME):
                total ^= int(np.bitwise_xor.reduce(segment.mapped.column(name).to_numpy()[low:high]))
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def side_by_side(
    work: Callable[..., R], config: JoinConfig, tasks: int, *args: Any, **kwargs: Any
) -> list[R]:
    """One fresh process for each task; all begin when the last is ready."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(tasks)
    with ProcessPoolExecutor(tasks, context, initializer=_ready, initargs=(barrier,)) as pool:
        waiting = [pool.submit(_together, work, config, task, args, kwargs) for task in range(tasks)]
        return [one.result() for one in waiting]


_barriers: list[Any] = []


def _ready(barrier: Any) -> None:
    _barriers.append(barrier)
    warm_worker()


def warm_worker() -> None:
    """What Spark's workers of the product have from the start: kernels, and pandas, which Arrow looks for."""
    warm()
    pa.array([1]).to_numpy()


def _together(work: Callable[..., R], config: JoinConfig, task: int, args: Any, kwargs: Any) -> R:
    _barriers[0].wait()
    return work(config, task, *args, **kwargs)


def forget_pages(home: Path) -> None:
    """Ask the system to drop what it has of the log in memory: the next read goes to the disk."""
    for path in home.glob("log/*/*/*"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def lose_index(config: JoinConfig) -> None:
    assert config.index_dir is not None
    shutil.rmtree(config.index_dir, ignore_errors=True)
