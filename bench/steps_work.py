"""A join with a long past, built straight through the log's and the engine's own code: no Spark, no slicer.

The right category has many commits, all of them in the window, of one row each or of many. The left one has
many rows, all of them open. Both were taken by an earlier step, whose live index and snapshot are there. What
the past says is true (every commit, segment and row number can be read), but its segments share their bytes:
a million commits then take a minute and not an hour.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from bench.recovery_window import BUCKETS, SCHEMA, append, join_config
from dovetail.engine.copying import settle
from dovetail.engine.driver import JoinDriver
from dovetail.engine.index_size import index_bytes
from dovetail.engine.store import StateStore, read_totals
from dovetail.joins.buffer import Held
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.joins.streams import Times
from dovetail.kernels.ring import more_of, tag_of
from dovetail.log import bundle as bundle_format
from dovetail.log import checkpoints, history
from dovetail.log import commit as commit_format
from dovetail.log.bundle import Bundled, CommitSpan
from dovetail.log.category import Category
from dovetail.log.commit import Commit, PackPlace, SegmentInfo, place
from dovetail.log.history import LogBounds
from dovetail.log.table import CommitTable
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset
from dovetail.model.sketch import EventTimeSketch
from dovetail.slicing.write_rows import bucket_of, hash_of, time_of

WIDE, YOUNG = 4096, 64
SEGMENT_ROWS = 1 << 17
INSERTED_ROWS = 1 << 20
ROW_US = 1_000
"""Event time between two left rows: by it as many rows close in a step as come."""
PHASES = ("append", "plan", "run", "retain")


@dataclass(frozen=True)
class Past:
    """What a step has behind it: commits of the right side, open rows of the left, and rows in the window of
    the right side, from which as many leave in a step as come. 0: one a commit, and none leaves."""

    commits: int
    open_rows: int
    window_rows: int = 0

    @classmethod
    def of_window(cls, rows: int, open_rows: int) -> Past:
        return cls(-(-rows // SEGMENT_ROWS), open_rows, rows)

    @property
    def right_rows(self) -> int:
        return self.window_rows or self.commits

    @property
    def first_us(self) -> int:
        """Stream time when the past is over."""
        return (max(self.open_rows, self.window_rows) + 1) * ROW_US

    @property
    def spec(self) -> IntervalSpec:
        """Left rows stay open for as long as it took them to come, and so do the right rows of a window."""
        before_us = self.window_rows * ROW_US if self.window_rows else 10**15
        return IntervalSpec(before_us, self.open_rows * ROW_US, "left")


@dataclass
class Steps:
    """A join at its last offset, and what its steps took, by phase."""

    past: Past
    driver: JoinDriver
    at: JoinOffset
    rng: np.random.Generator
    seconds: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    cpu_s: list[float] = field(default_factory=list)
    all_cpu_s: list[float] = field(default_factory=list)  # with the appends
    first_s: float | None = None
    rows: int = 0

    def step(self, new_rows: int) -> None:
        """Append half of the rows to each side, and join them."""
        left, right = self.driver.categories
        first = self.past.open_rows + self.at.left * new_rows
        keys = np.arange(first, first + new_rows // 2)
        times = self.past.first_us + (self.at.step * (new_rows // 2) + np.arange(new_rows // 2)) * ROW_US
        marks, cpu = [time.perf_counter()], [time.process_time()]
        append(left, keys, times, self.rng, parts=1)
        append(right, keys, times, self.rng, parts=1)
        cpu.append(time.process_time())
        marks.append(time.perf_counter())
        end = self.driver.plan(self.at, tasks=1)
        marks.append(time.perf_counter())
        self.rows += sum(batch.num_rows for batch in self.driver.run(self.at, end))
        marks.append(time.perf_counter())
        self.driver.retain(end)
        marks.append(time.perf_counter())
        cpu.append(time.process_time())
        settle()  # what the copying thread still does is not the next step's
        if self.first_s is None:
            self.first_s = marks[-1] - marks[1]
        else:
            for phase, before, after in zip(PHASES, marks, marks[1:], strict=False):
                self.seconds[phase].append(after - before)
            self.cpu_s.append(cpu[2] - cpu[1])
            self.all_cpu_s.append(cpu[2] - cpu[0])
        self.at = end

    def forget_times(self) -> None:
        for seconds in (*self.seconds.values(), self.cpu_s, self.all_cpu_s):
            seconds.clear()

    @property
    def steps_s(self) -> list[float]:
        """For the join's steps, without the appends before them."""
        joining = [self.seconds[phase] for phase in PHASES if phase != "append"]
        return [sum(parts) for parts in zip(*joining, strict=True)]

    @property
    def index_bytes_per_row(self) -> float:
        """The largest index, and the most rows held."""
        totals = read_totals(self.driver.config, self.at)
        return totals["peak_index_bytes"] / totals["peak_rows"]


def build(work: Path, index: Path, past: Past, seed: int = 1) -> Steps:
    home = work / "home"
    left, right = (Category.create(str(home), name, SCHEMA, buckets=BUCKETS) for name in ("left", "right"))
    rng = np.random.default_rng(seed)
    _old_commits(left, -(-past.open_rows // SEGMENT_ROWS), past.open_rows, rng)
    _old_commits(right, past.commits, past.right_rows, rng)
    made = join_config(home, index, past.spec)
    config = replace(made, settings=replace(made.settings, splits_hot_keys=False))
    held = JoinOffset(
        step=1,
        left=left.next_commit(),
        right=right.next_commit(),
        left_time=past.first_us,
        right_time=past.first_us,
        tasks=1,
    ).moved(base=JoinOffset().bare())
    store = StateStore(config, config.share(0, held))
    with store.index.exclusively():
        at = store.index.fresh(Times(held.left_time, held.right_time))
        at.state.left.load(_held(past.open_rows, past.first_us), past.open_rows)
        at.state.right.load(_held(past.right_rows, past.first_us), past.right_rows)
        totals = {"open_rows": past.open_rows, "retained_rows": past.right_rows}
        store.save(held, at, {**totals, "index_bytes": index_bytes(at)})
    settle()
    # As a process that has run for a while has done: a new row's hash may look like that of an open row,
    # whose key is then compared, and a process checks a segment when it first opens it.
    for commit in left.commits(0, held.left):
        for info in commit.segments:
            left.open_segment(info)
    return Steps(past, JoinDriver(config), held, rng)


def _held(rows: int, until_us: int) -> Iterator[Held]:
    """Rows that came at a steady rate until then, some at a time: all of them would take more memory than
    the index."""
    for start in range(0, rows, INSERTED_ROWS):
        numbers = np.arange(start, min(start + INSERTED_ROWS, rows))
        hashes = hash_keys([pa.array(-1 - numbers)])
        # All have matched: what closes comes out alone in no join, or one with more open rows had more to do.
        matched = np.ones(len(numbers), np.bool_)
        times = until_us - (rows - numbers) * ROW_US
        yield Held.fresh(tag_of(hashes), times, numbers, matched, more_of(hashes))


def _old_commits(category: Category, commits: int, rows: int, rng: np.random.Generator) -> None:
    """`rows` in all. The newest commits are files of their own, all others are in bundles."""
    each = -(-rows // commits)
    keys = pa.array(-1 - np.arange(each))
    columns = [pa.array(hash_keys([keys])), pa.array(np.zeros(each, np.int64)), keys, keys]
    batch = pa.record_batch([*columns, pa.array(rng.random(each))], schema=SCHEMA)
    (info,) = category.write_segments(
        [batch], bucket_of("_hash", BUCKETS), time_of("_time"), hash_of=hash_of("_hash"), max_rows=each
    )
    category.make_folders()
    for folder in (bundle_format.FOLDER, bundle_format.PACKS):
        category.store.make_folder(f"{category.folder}/{folder}")
    data = category.store.read(f"{category.folder}/segments/{info.name}")
    category.store.replace(bundle_format.pack_path(category, "old.pack"), data)
    # The whole past is in the window: its newest time is that of the last step.
    info = replace(info, sketch=EventTimeSketch(each, 0, 0, 10**14, (0,), (each,)), frequent=())
    stop = max(0, commits - YOUNG) // YOUNG * YOUNG
    at = 0
    while at < stop:
        span = CommitSpan(at, min(stop, (at // WIDE + 1) * WIDE))
        _bundle(category, span, info)
        at = span.stop
    for number in range(stop, commits):
        alone = replace(info, name=_unique(category, number))
        category.store.replace(f"{category.folder}/segments/{alone.name}", data, durable=False)
        encoded = commit_format.encode(_commit(number, alone), category.id)
        category.store.replace(history.commit_path(category, number), encoded, durable=False)
    history.record_bounds(category, LogBounds(0, stop))


def _bundle(category: Category, span: CommitSpan, info: SegmentInfo) -> None:
    commits = [_commit(number, replace(info, name=_unique(category, number))) for number in range(*span)]
    lines = [
        Bundled(
            commit_format.encode(commit, category.id), info.bytes, (PackPlace("old.pack", 0),), frozenset()
        )
        for commit in commits
    ]
    checkpoints.write(category, CommitTable.of(commits))
    category.store.create(
        bundle_format.path_of(category, span), bundle_format.encode(category.id, span, lines)
    )


def _commit(number: int, info: SegmentInfo) -> Commit:
    first_row = number * info.rows
    return Commit(
        number, first_row, place([info], first_row, number), (), None, None, {}, time.time_ns() // 1000
    )


def _unique(category: Category, number: int) -> str:
    """A segment's name is its own in all categories: a process knows what it has read by it."""
    return f"{xxhash.xxh3_128_hexdigest(f'{category.id}/{number}'.encode())}.arrow"
