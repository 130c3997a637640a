"""An aggregate's rows in a log, and its steps run in this process: planned, read part by part, retained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from aggregate_oracle import Row
from dovetail.engine.window_planner import WindowPlanner
from dovetail.engine.window_step import run_part
from dovetail.errors import CategoryNotFound
from dovetail.log.category import Category
from dovetail.model.time_codes import NO_TIME
from dovetail.model.time_window import TimeWindow
from dovetail.model.window_config import WindowConfig, WindowSettings
from dovetail.model.window_offset import WindowOffset
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema(
    [("_hash", pa.int64()), ("_time", pa.int64()), ("_key_0", pa.string()), ("id", pa.int64())]
)
OUT = pa.schema(
    [
        ("_window_start", pa.timestamp("us", "UTC")),
        ("_window_end", pa.timestamp("us", "UTC")),
        ("id", pa.int64()),
    ]
)
WORTH = pa.field("worth", pa.int64())
Pair = tuple[int, tuple[int, int]]


def config_of(home: Path, window: TimeWindow, delay_us: int, **settings: object) -> WindowConfig:
    given = {"max_step_rows": 1_000_000, **settings}
    return WindowConfig(
        home=str(home),
        application="app",
        stage="t.windows",
        rows="app.t.rows",
        late="app.t.late",
        window=window,
        settings=WindowSettings(delay_us, **given),  # type: ignore[arg-type]
        keys=("_key_0",) if window.is_session else (),
        columns=("id",),
        tasks=2,
    )


@dataclass
class Aggregate:
    """`steps`: what came out, step by step."""

    config: WindowConfig
    steps: list[list[Pair]] = field(default_factory=list)
    rows: int = 0
    worth: dict[Pair, int | None] = field(default_factory=dict)  # what a later query read of a row

    def __post_init__(self) -> None:
        self.category = Category.create(self.config.home, self.config.rows, SCHEMA, buckets=1, role="side")
        self.planner = WindowPlanner(self.config)
        self.offset = self.planner.first()

    def append(self, commit: Sequence[Row]) -> None:
        """One commit. All keys have one of two hashes, so that different keys share one."""
        numbers = np.arange(self.rows, self.rows + len(commit))
        self.rows += len(commit)
        batch = pa.record_batch(
            [
                pa.array([0 if key is None else len(str(key)) % 2 for _, key in commit], pa.int64()),
                pa.array([NO_TIME if time is None else time for time, _ in commit], pa.int64()),
                pa.array([key for _, key in commit], pa.string()),
                pa.array(numbers),
            ],
            schema=SCHEMA,
        )
        if "worth" in self.config.columns:
            batch = batch.append_column("worth", pa.array(7 * numbers))
        infos = self.category.write_segments([batch], bucket_of(None, 1), time_of("_time"), max_rows=3)
        self.category.append(infos)

    def run(self, *, final: bool = False, restarted: bool = False, hurried: bool = True) -> None:
        """Steps over all there is."""
        if restarted:
            self.planner = WindowPlanner(self.config)
        until = self.planner.there_now() if hurried else None
        while (end := self.planner.plan(self.offset, until=until, final=final)) is not self.offset:
            end = WindowOffset.from_json(end.to_json())
            self.steps.append(list(self._read(end)))
            self.planner.retain(end)
            self.offset = end

    def change(self) -> None:
        """A query that reads one more column takes over. It has one planner more, and goes on from here."""
        self.config = replace(self.config, columns=("id", "worth"))
        self.category = self.category.evolve(SCHEMA.append(pa.field("worth", pa.int64())))
        self.planner = WindowPlanner(self.config)

    def forget(self, *, final: bool = False) -> None:
        """Plan a step and die before Spark knows of it. A planner that starts later may plan another."""
        self.planner.plan(self.offset, until=self.planner.there_now() if final else None, final=final)
        self.planner = WindowPlanner(self.config)

    def _read(self, end: WindowOffset) -> Iterator[Pair]:
        for part in self.planner.parts(self.offset, end):
            reads = "worth" in self.config.columns
            for batch in run_part(self.config, part, OUT.append(WORTH) if reads else OUT):
                pairs = list(pairs_of(batch))
                yield from pairs
                if reads:
                    self.worth |= dict(zip(pairs, batch.column("worth").to_pylist(), strict=True))

    @property
    def out(self) -> list[Pair]:
        return [pair for step in self.steps for pair in step]

    @property
    def late(self) -> list[Pair]:
        try:
            category = Category.open(self.config.home, self.config.late)
        except CategoryNotFound:  # none was late
            return []
        commits = category.commits(category.first_commit(), category.next_commit())
        found = [category.open_segment(info).batch for commit in commits for info in commit.segments]
        return [pair for batch in found for pair in pairs_of(batch)]


def pairs_of(batch: pa.RecordBatch) -> Iterator[Pair]:
    starts, ends = (
        batch.column(name).cast(pa.int64()).to_pylist() for name in ("_window_start", "_window_end")
    )
    for row, start, end in zip(batch.column("id").to_pylist(), starts, ends, strict=True):
        yield row, (start, end)
