"""A chain of joins over a home, without Spark, or an aggregate over a join or a chain: the stages of
`dovetail.local`, stepped one at a time.

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

from dovetail.local.graph import Graph, Runner, StageJournal
from dovetail.log import compaction
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.model.offset import JoinOffset
from dovetail.model.window_offset import WindowOffset
from dovetail.plan.physical import WindowStage
from dovetail.pql.compile import compile_pql
from dovetail.service.torture.aggregate import Aggregate, summed
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


def aggregate_of(seed: int | str) -> tuple[ChainWorkload, Aggregate]:
    """Over one join, or over two."""
    return ChainWorkload.of(seed, ROWS, joins=(1, 2)), Aggregate.of(seed, keyed_sessions=False)


def aggregate_expected(seed: int | str) -> Counter[Result]:
    chain, aggregate = aggregate_of(seed)
    return aggregate.over(chain.views()[-1])


def chain_put_out(home: Path) -> list[Result]:
    """All rows that the last stage has put out for good."""
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


def run_aggregate(home: Path, index: Path, seed: int | str, shift: int = 0) -> None:
    """As `run`, with an aggregate over the last join."""
    run(home, index, seed, shift, *aggregate_of(seed))


def run(
    home: Path,
    index: Path,
    seed: int | str,
    shift: int = 0,
    chain: ChainWorkload | None = None,
    aggregate: Aggregate | None = None,
) -> None:
    """Go on until all rows are joined. `shift` gives the joins another number of tasks."""
    chain = chain or chain_of(seed)
    compaction.SHAPE = SMALL_FILES
    inputs = [Category.create(str(home), f"s{n}", SCHEMA, buckets=1) for n in range(len(chain.streams))]
    query = chain_query(chain, "NOOP", STEP_ROWS, aggregate.select if aggregate else None)
    plan = compile_pql(query.replace("tasks = 2, ", ""))
    journals = _Journals(open_store(str(home)))
    graph = Graph(
        plan,
        str(home),
        str(home),
        tasks=1 + shift % MOST_TASKS,
        index=str(index),
        journals={stage.name: journals.read(stage.name) for stage in plan.stages},
        aggregation=counted,
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


def counted(stage: WindowStage, rows: pa.Table) -> pa.Table:
    """What the aggregate's query gives, as Spark would compute it: a result for each window and key. A window
    whose rows came in two batches would have two results."""
    ids = [name for name in rows.column_names if name.startswith("i")]
    keyed = "c" in rows.column_names
    listed = (rows[name].to_pylist() for name in (*rows.column_names[:2], *(["c"] if keyed else [])))
    groups: dict[tuple[Any, ...], list[tuple[int | None, ...]]] = {}
    numbers = zip(*(rows[name].to_pylist() for name in ids), strict=True)
    for group, number in zip(zip(*listed, strict=True), numbers, strict=True):
        groups.setdefault(group, []).append(number)
    made = [(*group, len(within), *summed(within)) for group, within in groups.items()]
    whole = ["c", "n", "total", "most"] if keyed else ["n", "total", "most"]
    schema = pa.schema(
        [*((name, pa.timestamp("us", "UTC")) for name in "se"), *((n, pa.int64()) for n in whole)]
    )
    columns = zip(*made, strict=True) if made else ([] for _ in schema)
    return pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


class _Journals:
    """The journals of all stages, in the home."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def read(self, stage: str) -> StageJournal:
        for folder in ("ends", "done"):
            self.store.make_folder(f"journal/{stage}/{folder}")
        ends = [self._end(stage, number) for number in range(self._count(stage, "ends"))]
        return StageJournal(ends, self._count(stage, "done"))

    def step(self, runner: Runner, *, final: bool) -> bool:
        """One batch of a stage. Where it ends is written down before it runs, and what it puts out before it
        is done."""
        stage, journal = runner.stage.name, runner.journal
        if not runner.plan(final=final):
            return False
        batch, end = journal.done, journal.ends[-1]
        said = end.to_json() if isinstance(end, JoinOffset | WindowOffset) else end
        self._write(f"{stage}/ends/{batch}", {"of": type(end).__name__, "end": said})
        runner.run()
        if batch in journal.rows:
            self.store.make_folder(f"journal/{stage}/rows")
            columns = [_numbers(column) for column in journal.rows.pop(batch).columns]
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
        kinds: dict[str, Any] = {"JoinOffset": JoinOffset.from_json, "WindowOffset": WindowOffset.from_json}
        return kinds.get(said["of"], int)(said["end"])


def _numbers(column: pa.ChunkedArray) -> list[int | None]:
    """Times as seconds since the beginning."""
    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    return [None if us is None else us // 1_000_000 - BEGIN_S for us in column.cast(pa.int64()).to_pylist()]


def _append(category: Category, rows: list[Row], batch: int) -> None:
    """One batch of a producer. The last batch that is there is appended once more, as Spark does it."""
    if category.last_batch("torture") > batch:
        return
    batches = table_of(rows).combine_chunks().to_batches()
    category.append(
        category.write_segments(batches, bucket_of(None, 1), time_of("t")), producer="torture", batch=batch
    )
