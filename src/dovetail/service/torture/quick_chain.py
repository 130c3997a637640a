"""A chain of joins over a home, without Spark: the stages of `dovetail.local`, stepped one at a time.

Streams are written batch by batch. A stage's batch is planned, its end written down, run, and marked as done,
as Spark's checkpoint does it. It may be killed anywhere: started again, it goes on.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from dovetail.local.graph import Graph, JoinRunner, Journal, Runner
from dovetail.log import compaction
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.model.offset import JoinOffset
from dovetail.pql.compile import compile_pql
from dovetail.service.torture.chain import ChainWorkload, chain_query
from dovetail.service.torture.oracle import Result, Row
from dovetail.service.torture.quick_join import SMALL_FILES
from dovetail.service.torture.workload import cut
from dovetail.slicing.write_rows import bucket_of, time_of

ROWS, BATCHES, STEP_ROWS = 60, 5, 30
MOST_TASKS = 3
BEGIN_S = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
SCHEMA = pa.schema(
    [("t", pa.timestamp("us", "UTC")), ("k", pa.string()), ("c", pa.int64()), ("i0", pa.int64())]
)


def chain_of(seed: int | str) -> ChainWorkload:
    return ChainWorkload.of(seed, ROWS)


def chain_expected(seed: int | str) -> Counter[Result]:
    return chain_of(seed).expected()


def chain_put_out(home: Path) -> list[Result]:
    """All rows that the last join has put out for good."""
    (journal,) = [folder for folder in (home / "journal").iterdir() if (folder / "rows").is_dir()]
    done = {path.stem for path in (journal / "done").glob("*.json")}
    files = sorted((journal / "rows").glob("*.json"))
    return [tuple(row) for path in files if path.stem in done for row in json.loads(path.read_text())]


def table_of(rows: list[Row]) -> pa.Table:
    columns = [
        [None if time is None else (BEGIN_S + time) * 1_000_000 for _, time, _ in rows],
        [key for key, _, _ in rows],
        [None if key is None else ord(key) for key, _, _ in rows],
        [number for _, _, number in rows],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def run(home: Path, index: Path, seed: int | str, shift: int = 0) -> None:
    """Go on until all rows are joined. `shift` gives the joins another number of tasks."""
    chain = chain_of(seed)
    compaction.SHAPE = SMALL_FILES
    inputs = [Category.create(str(home), f"s{n}", SCHEMA, buckets=1) for n in range(len(chain.streams))]
    plan = compile_pql(chain_query(chain, "NOOP", STEP_ROWS).replace("tasks = 2, ", ""))
    journals = _Journals(open_store(str(home)))
    graph = Graph(
        plan,
        str(home),
        str(home),
        tasks=1 + shift % MOST_TASKS,
        index=str(index),
        journals={stage.name: journals.read(stage.name) for stage in plan.stages},
    )
    rng = random.Random(f"{seed} {shift}")
    for batch in range(BATCHES):
        for stream, category in zip(chain.streams, inputs, strict=True):
            _append(category, cut(stream, batch, BATCHES), batch)
        for _ in range(3 * len(graph.runners)):  # some stages run ahead, others wait
            journals.step(rng.choice(list(graph.runners.values())), final=False)
    for runner in graph.runners.values():
        while journals.step(runner, final=True):
            pass


class _Journals:
    """The journals of all stages, in the home."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def read(self, stage: str) -> Journal:
        for folder in ("ends", "done"):
            self.store.make_folder(f"journal/{stage}/{folder}")
        ends = [self._end(stage, number) for number in range(self._count(stage, "ends"))]
        return Journal(ends, self._count(stage, "done"))

    def step(self, runner: Runner, *, final: bool) -> bool:
        """One batch of a stage. Where it ends is written down before it runs, and what it puts out before it
        is done."""
        stage, journal = runner.stage.name, runner.journal
        if not runner.plan(final=final):
            return False
        batch, end = journal.done, journal.ends[-1]
        said = end.to_json() if isinstance(end, JoinOffset) else end
        self._write(f"{stage}/ends/{batch}", {"join": isinstance(runner, JoinRunner), "end": said})
        runner.run()
        if batch in journal.rows:
            self.store.make_folder(f"journal/{stage}/rows")
            columns = [column.to_pylist() for column in journal.rows.pop(batch).columns]
            self._write(f"{stage}/rows/{batch}", list(zip(*columns, strict=True)))
        self._write(f"{stage}/done/{batch}", None)
        runner.settle()
        return True

    def _write(self, name: str, what: Any) -> None:
        self.store.replace(f"journal/{name}.json", json.dumps(what).encode())

    def _count(self, stage: str, folder: str) -> int:
        return sum(entry.name.endswith(".json") for entry in self.store.files(f"journal/{stage}/{folder}"))

    def _end(self, stage: str, number: int) -> Any:
        said = json.loads(self.store.read(f"journal/{stage}/ends/{number}.json"))
        return JoinOffset.from_json(said["end"]) if said["join"] else said["end"]


def _append(category: Category, rows: list[Row], batch: int) -> None:
    """One batch of a producer. The last batch that is there is appended once more, as Spark does it."""
    number = category.next_commit()
    if number and category.commit(number - 1).producers.get("torture", -1) > batch:
        return
    batches = table_of(rows).combine_chunks().to_batches()
    category.append(
        category.write_segments(batches, bucket_of(None, 1), time_of("t")), producer="torture", batch=batch
    )
