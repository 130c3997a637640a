"""A join over a home, as Spark would run it, without Spark: `python -m faults.worker HOME SEED`.

Both inputs are written to the log in batches, a producer's batch once; steps are planned by the coordinator,
written to an offset log, run, and their rows put out as a file of the step, as a transactional sink does it.
It may be killed anywhere: started again, it goes on.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.log.filesystem import Store, open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.spark.write_rows import bucket_of, hash_of, time_of
from dovetail.state.join_step import run_step
from dovetail.state.key_hash import hash_keys
from dovetail.state.step_log import StepLog
from dovetail.state.store import drop_snapshots
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, needed_since, plan
from dovetail.time.recording import record_of
from unit.state.workload import NO_TIME, OUTPUT, SCHEMA, Row, config, random_rows

BEFORE, AFTER, MAX_DELAY, BUCKETS, ROWS, BATCHES = 120, 90, 60, 8, 160, 8
SPECS = (
    IntervalSpec(BEFORE, AFTER, "left"),
    IntervalSpec(BEFORE, AFTER, "full"),
    IntervalSpec(BEFORE, AFTER, "full", "one", "nearest"),
    IntervalSpec(BEFORE, AFTER, "anti"),
)


def inputs(seed: int) -> tuple[IntervalSpec, list[Row], list[Row]]:
    rng = random.Random(seed)
    spec = SPECS[seed % len(SPECS)]
    return spec, random_rows(rng, ROWS, MAX_DELAY), random_rows(rng, ROWS, MAX_DELAY)


def put_out(home: Path) -> list[tuple[int | None, int | None]]:
    """All rows that steps have put out for good."""
    done = {path.stem for path in (home / "sink/done").glob("*.json")}
    files = sorted((home / "sink/rows").glob("*.json"))
    return [tuple(row) for path in files if path.stem in done for row in json.loads(path.read_text())]


def append(category: Category, rows: list[Row], batch: int) -> None:
    part = rows[batch * ROWS // BATCHES : (batch + 1) * ROWS // BATCHES]
    keys = pa.array([key for key, _, _ in part], pa.string())
    times = pa.array([NO_TIME if None in row else row[1] for row in part], pa.int64())
    numbers = pa.array([number for _, _, number in part], pa.int64())
    record = pa.record_batch([pa.array(hash_keys([keys])), times, keys, numbers], schema=SCHEMA)
    buckets = bucket_of("_hash", BUCKETS)
    infos = category.write_segments([record], buckets, time_of("_time"), hash_of=hash_of("_hash"), max_rows=9)
    category.append(infos, producer="worker", batch=batch)


class Steps:
    """The offset log and the sink."""

    def __init__(self, join: JoinConfig, store: Store) -> None:
        self.join = join
        self.store = store
        for folder in ("offsets", "rows", "done"):
            store.make_folder(f"sink/{folder}")

    def last(self) -> tuple[JoinOffset, JoinOffset | None]:
        """The end of the last step that is done, and that of one that was planned after it."""
        planned = [JoinOffset(), *(self._read(number) for number in range(1, self._count("offsets") + 1))]
        done = self._count("done")
        return planned[done], planned[done + 1] if len(planned) > done + 1 else None

    def run(self, start: JoinOffset, end: JoinOffset) -> None:
        batches = [b for task in range(end.tasks) for b in run_step(self.join, task, start, end, OUTPUT)]
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        self.store.replace(f"sink/rows/{end.step}.json", json.dumps(rows).encode())
        self.store.replace(f"sink/done/{end.step}.json", b"")
        for name, floor in ((self.join.left, end.left_floor), (self.join.right, end.right_floor)):
            category = Category.open(self.join.home, name)
            category.set_reader("join", floor)
            category.retain()
        drop_snapshots(self.join, keep=[end.version])

    def log(self, end: JoinOffset) -> None:
        self.store.replace(f"sink/offsets/{end.step}.json", json.dumps(end.to_json()).encode())

    def _count(self, folder: str) -> int:
        return sum(entry.name.endswith(".json") for entry in self.store.files(f"sink/{folder}"))

    def _read(self, number: int) -> JoinOffset:
        return JoinOffset.from_json(json.loads(self.store.read(f"sink/offsets/{number}.json")))


def main(home: Path, seed: int, tasks: int | None = None) -> None:
    """To the end; without `tasks` their number changes from step to step."""
    spec, left_rows, right_rows = inputs(seed)
    join = config(home, home / "index", spec, BUCKETS, MAX_DELAY)
    left, right = (Category.create(str(home), name, SCHEMA, buckets=BUCKETS) for name in ("left", "right"))
    store = open_store(str(home))
    steps, records = Steps(join, store), StepLog(join.home, join.state_path)
    for batch in range(BATCHES):
        append(left, left_rows, batch)
        append(right, right_rows, batch)
        while True:
            start, end = steps.last()
            if end is None:
                summaries = _new(left, start.left), _new(right, start.right)
                pace = Pace(MAX_DELAY, MAX_DELAY, 40, tasks or 1 + start.step % 3)
                planned = plan(start, *summaries, pace, final=batch == BATCHES - 1)
                if planned.end is start:
                    break
                records.write(record_of(start, planned, *summaries, planned_at_us=start.step))
                end = _with_floors(join, planned.end, left, right)
                steps.log(end)
            steps.run(start, end)


def _new(category: Category, start: int) -> list[CommitSummary]:
    return [
        CommitSummary(commit.rows, commit.sketch.max_us if commit.sketch.count else None)
        for commit in category.commits(start, category.next_commit())
    ]


def _with_floors(join: JoinConfig, end: JoinOffset, left: Category, right: Category) -> JoinOffset:
    floors = []
    sides = ((left, end.left_floor, end.left), (right, end.right_floor, end.right))
    for (category, floor, stop), since in zip(sides, needed_since(join.spec, end), strict=True):
        needed = (number for number in range(floor, stop) if _newest(category, number) >= since)
        floors.append(next(needed, stop))
    return end.moved(left_floor=floors[0], right_floor=floors[1])


def _newest(category: Category, number: int) -> int:
    sketch = category.commit(number).sketch
    return sketch.max_us if sketch.count else NO_TIME


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
