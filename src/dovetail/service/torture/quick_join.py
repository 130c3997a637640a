"""A whole join over a home, as Spark would run it, without Spark: for kills by the hundred.

Both inputs are written to the log in batches, a producer's batch once; steps are planned by the coordinator,
written to an offset log, run, and their rows put out as a file of the step, as a transactional sink does it.
It may be killed anywhere: started again, it goes on.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from dovetail.engine.driver import JoinDriver
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log import compaction
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import JoinKind
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, HotKey
from dovetail.model.time_codes import NO_TIME
from dovetail.service.torture.modes import Kind
from dovetail.service.torture.oracle import Result, Row, Turn
from dovetail.service.torture.quick_kinds import kind_of
from dovetail.service.torture.workload import MAX_DELAY, Workload, cut
from dovetail.slicing.write_rows import bucket_of, hash_of, time_of
from dovetail.time.hot_keys import splittable

BUCKETS, ROWS, BATCHES, STEP_ROWS = 8, 160, 8, 40
MOST_TASKS = 3
SMALL_FILES = FileShape(span=2, fan=2, recent=1)
"""So few commits are put together that a short run passes every point of it."""
SCHEMA = pa.schema(
    [
        pa.field("_hash", pa.int64(), False),
        pa.field("_time", pa.int64(), False),
        pa.field("_key_0", pa.string()),
        pa.field("id", pa.int64()),
    ]
)
THETA_SCHEMA = pa.schema(
    [pa.field("_time", pa.int64(), False), pa.field("_on_0", pa.int64()), pa.field("id", pa.int64())]
)
NOTE = pa.field("note", pa.string())
OUTPUT = pa.schema([("left", pa.int64()), ("right", pa.int64())])
_BOUNDS = OutputColumn("start", "window", "start"), OutputColumn("end", "window", "end")


def quick_workload(seed: int | str, kinds: Sequence[Kind] = get_args(Kind)) -> Workload:
    return Workload.of(seed, ROWS, kinds)


def quick_turns(workload: Workload) -> list[Turn]:
    """How rows enter. Both sides come in batches of one size, left before right; so whenever a process dies,
    the side of which fewer rows have entered, or left, is the one whose batch is there."""
    turns: list[Turn] = []
    for batch in range(BATCHES):
        turns.append(("left", cut(workload.left, batch, BATCHES)))
        turns.append(("right", cut(workload.right, batch, BATCHES)))
    return turns


def picking_workload(seed: int | str) -> Workload:
    return Workload.by_value(seed, ROWS)


def quick_expected(seed: int | str, workload: Workload | None = None) -> Counter[Result]:
    workload = workload or quick_workload(seed)
    return workload.expected(quick_turns(workload))


def is_wide(seed: int | str) -> bool:
    """Whether rows carry words, which are compressed with a dictionary."""
    return random.Random(f"the words of {seed}").random() < 0.3


def put_out(home: Path) -> list[Result]:
    """All rows that steps have put out for good."""
    done = {path.stem for path in (home / "sink/done").glob("*.json")}
    files = sorted((home / "sink/rows").glob("*.json"))
    return [tuple(row) for path in files if path.stem in done for row in json.loads(path.read_text())]


def run_picking(home: Path, index: Path, seed: int | str, shift: int = 0) -> None:
    """As `run`, with a join that picks by value."""
    run(home, index, seed, shift, workload=picking_workload(seed))


def run(
    home: Path,
    index: Path,
    seed: int | str,
    shift: int = 0,
    tasks: int | None = None,
    workload: Workload | None = None,
) -> None:
    """Go on until all rows are joined. Without `tasks` their number changes from step to step, and `shift`
    gives each step another."""
    workload = workload or quick_workload(seed)
    wide = is_wide(seed)
    schema = THETA_SCHEMA if workload.mode.theta else SCHEMA
    join = _join(home, index, workload)
    left, right = (
        Category.create(
            join.home,
            name,
            schema.append(NOTE) if wide else schema,
            buckets=join.buckets,
            compression="zstd" if wide else "auto",
        )
        for name in ("left", "right")
    )
    compaction.SHAPE = SMALL_FILES
    driver = JoinDriver(join)
    steps = Steps(driver, open_store(join.home))
    for batch in range(BATCHES):
        append(left, cut(workload.left, batch, BATCHES), batch)
        append(right, cut(workload.right, batch, BATCHES), batch)
        while True:
            start, end = steps.last()
            if end is None:
                hot = _hot(join.spec, f"{seed} {start.step // 3}") if join.splits_hot_keys else []
                end = driver.plan(
                    start,
                    until=driver.there_now(),
                    final=batch == BATCHES - 1,
                    tasks=tasks or 1 + (start.step // 2 + shift) % MOST_TASKS,
                    amend=partial(JoinOffset.moved, hot=hot),
                )
                if end is start:
                    break
                steps.log(end)
            steps.run(start, end)


class Steps:
    """The offset log and the sink."""

    def __init__(self, driver: JoinDriver, store: Store) -> None:
        self.driver = driver
        self.store = store
        for folder in ("offsets", "rows", "done"):
            store.make_folder(f"sink/{folder}")

    def last(self) -> tuple[JoinOffset, JoinOffset | None]:
        """The end of the last step that is done, and that of one that was planned after it."""
        planned = [JoinOffset(), *(self._read(number) for number in range(1, self._count("offsets") + 1))]
        done = self._count("done")
        return planned[done], planned[done + 1] if len(planned) > done + 1 else None

    def run(self, start: JoinOffset, end: JoinOffset) -> None:
        batches = list(self.driver.run(start, end))
        columns = [[column.cast(pa.int64()).to_pylist() for column in batch.columns] for batch in batches]
        rows = [row for of_batch in columns for row in zip(*of_batch, strict=True)]
        self.store.replace(f"sink/rows/{end.step}.json", json.dumps(rows).encode())
        self.store.replace(f"sink/done/{end.step}.json", b"")
        self.driver.retain(end)

    def log(self, end: JoinOffset) -> None:
        self.store.replace(f"sink/offsets/{end.step}.json", json.dumps(end.to_json()).encode())

    def _count(self, folder: str) -> int:
        return sum(entry.name.endswith(".json") for entry in self.store.files(f"sink/{folder}"))

    def _read(self, number: int) -> JoinOffset:
        return JoinOffset.from_json(json.loads(self.store.read(f"sink/offsets/{number}.json")))


def _join(home: Path, index: Path, workload: Workload) -> JoinConfig:
    mode = workload.mode
    join = config(home, index, kind_of(mode), 1 if mode.theta else BUCKETS, MAX_DELAY)
    if mode.theta:
        return replace(join, keys=())
    return replace(join, columns=(*join.columns, *_BOUNDS)) if mode.windowed else join


def config(home: Path | str, index: Path, kind: JoinKind, buckets: int, max_delay: int) -> JoinConfig:
    return JoinConfig(
        home=str(home),
        application="app",
        join="view",
        left="left",
        right="right",
        keys=("_key_0",),
        join_kind=kind,
        columns=(OutputColumn("left", "left", "id"), OutputColumn("right", "right", "id")),
        buckets=buckets,
        tasks=1,
        settings=JoinSettings(max_delay, max_delay, STEP_ROWS, history_us=0),
        index_dir=str(index),
        drain=True,
    )


def append(category: Category, rows: list[Row], batch: int) -> None:
    """One batch of a producer, with a row aside that cannot be read. The last batch that is there is appended
    once more, as Spark does it that does not know; those before it are known to be there."""
    if category.last_batch("torture") > batch:
        return
    keys = pa.array([key for key, _, _ in rows], pa.string())
    columns: dict[str, Any] = {
        "_hash": hash_keys([keys]),
        "_time": [NO_TIME if key is None or time is None else time for key, time, _ in rows],
        "_key_0": keys,
        "_on_0": [None if key is None else ord(key) for key, _, _ in rows],
        "id": [number for _, _, number in rows],
        "note": [_note(number) for _, _, number in rows],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in category.schema]
    record = pa.record_batch(arrays, schema=category.schema)
    keyed = "_hash" in category.schema.names
    buckets = bucket_of("_hash" if keyed else None, category.buckets)
    hashes = hash_of("_hash") if keyed else None
    infos = category.write_segments([record], buckets, time_of("_time"), hash_of=hashes, max_rows=9)
    rejected = [category.write_rejected(["?"], "not a row")]
    category.append(infos, producer="torture", batch=batch, rejected=rejected)


def _note(number: int) -> str:
    """About thirty kilobytes: a dictionary is not trained on less than a few hundred."""
    words = ["clicked", "seen", "bought", *(str(random.Random(number + n).random()) for n in range(20))]
    return " ".join(words) * 80


def _hot(spec: IntervalSpec, seed: str) -> list[list[Any]]:
    """Keys that are split for a while, where the join can be."""
    rng = random.Random(seed)
    if not splittable(spec) or rng.random() < 0.5:
        return []
    hashes = hash_keys([pa.array(rng.sample("abcdefgh", 2))]).tolist()
    sides = SIDES if (spec.how, spec.match) == ("inner", "all") else SIDES[:1]
    return [list(HotKey(hash, rng.choice(sides))) for hash in hashes]
