"""A home in the middle of its life, with a file of every kind that is read back, and how it is used."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from dovetail.changes import positions
from dovetail.changes.closing import Closing, read_closing, write_closing
from dovetail.changes.compare import compare
from dovetail.changes.versions import Version, read_version, write_version
from dovetail.engine import asked_tasks, handover, index_folders, live_index
from dovetail.engine.copying import settle
from dovetail.engine.join_step import run_step
from dovetail.engine.measure import measure
from dovetail.engine.planner import summary
from dovetail.engine.queries import config_at, remember
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.engine.step_log import StepLog
from dovetail.engine.store import read_totals
from dovetail.engine.window_record import WindowRecord, read_record, write_record
from dovetail.errors import CorruptFile, InputError
from dovetail.joins import rebuild_progress
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log import compaction, document, history, ledger
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.homes import lease
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.lease import Lease
from dovetail.log.limits import Limits, set_limits
from dovetail.log.source_progress import SourceReport, read_reports, write_report
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from dovetail.model.time_window import TimeWindow
from dovetail.model.window_config import WindowConfig, WindowSettings
from dovetail.model.window_offset import WindowOffset
from dovetail.plan import application_file
from dovetail.pql.compile import compile_pql
from dovetail.preview.compare import Difference
from dovetail.preview.shadow_files import Progress, ShadowFile, ShadowPosition, read_progress, read_shadow
from dovetail.service.torture.quick_join import BATCHES, BUCKETS, ROWS, append
from dovetail.service.torture.workload import AFTER, BEFORE, MAX_DELAY, cut
from dovetail.slicing.covered_files import CoveredFiles, Slicer
from dovetail.slicing.readings import Reading, read_reading, write_reading
from dovetail.slicing.standing import CommitsRead, FilesDone
from dovetail.spark.batch_files import files_of_batch, last_planned
from dovetail.spark.checkpoints import Checkpoint
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, Planned, plan
from dovetail.time.recording import record_of
from dovetail.why.why import why
from faults import near
from unit.engine.workload import OUTPUT, SCHEMA, config, random_rows
from wide_rows import SCHEMA as WIDE
from wide_rows import put as put_wide
from wide_rows import wide_rows

TASKS, STEPS = 2, 6
LEASE = "apps/app/lease.json"
_CHECKPOINT = Checkpoint("", "spark", "slicer")
REPLAYED_US = 1_700_000_000_000_000
SPECS = (
    IntervalSpec(BEFORE, AFTER, "left", "one", "nearest"),
    IntervalSpec(BEFORE, AFTER, "full"),
    IntervalSpec(BEFORE, AFTER, "inner", "all", "first", 3, 3),
)
SLICERS = (Slicer("app", "first", "/in/first"), Slicer("app", "second", "/in/second"))
QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k STRING, x INT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k STRING, y INT) FROM SCRIBE("b");
CREATE VIEW v AS SELECT a.k AS k, a.x AS x, b.y AS y FROM a LEFT JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '2 minutes';
CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;
"""


@dataclass(frozen=True)
class Specimen:
    """`home` with its live index in `index`; offsets of the last step done and of the next are in `sink`."""

    root: Path
    join: JoinConfig
    pace: Pace

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def near(self) -> JoinConfig:
        """A theta join in a home of its own."""
        return near.config(self.home / "near", self.index / "near")


def build(root: Path, seed: int) -> Specimen:
    rng = random.Random(seed)
    spec = SPECS[seed % len(SPECS)]
    join = config(root / "home", root / "index", spec, BUCKETS, MAX_DELAY)
    estimate = EstimateSpec(sample_rows=8, ascending=2, max_window=4) if seed % 2 == 0 else None
    splits = None if spec.keeps_right or spec.left_cap else spec
    made = Specimen(root, join, Pace(MAX_DELAY, MAX_DELAY, 40, TASKS, estimate, splits=splits))
    left = Category.create(join.home, "left", SCHEMA, buckets=BUCKETS)
    right = Category.create(join.home, "right", SCHEMA, buckets=BUCKETS, compression="zstd")
    rows = [random_rows(rng, ROWS, MAX_DELAY) for _ in range(2)]
    for batch in range(BATCHES):
        append(left, cut(rows[0], batch, BATCHES), batch)
        append(right, cut(rows[1], batch, BATCHES), batch)
    wide = Category.create(join.home, "wide", WIDE, buckets=4)
    put_wide(wide, wide_rows(1200))
    for batch in _evolving(wide_rows(40, 2)):
        put_wide(wide.evolve(batch.schema), batch)
    for text in ("{bad", "{worse"):
        wide.append([], rejected=[wide.write_rejected([text, "no"], "no JSON")])
    _run_steps(made, (left, right))
    for category in (left, right, wide):
        _compact(category)
        set_limits(category, Limits(86_400_000_000, 10**9))
        for producer in ("app.one", "app.two"):
            write_report(category, SourceReport(producer, "app", "behind", 7, 8, 6, 5, 4, None, 3))
    store = open_store(join.home)
    for number, sql in enumerate((QUERY, QUERY.replace("LEFT JOIN", "JOIN"))):
        store.make_folder(f"apps/app{number}")
        path = application_file.application_path(f"app{number}")
        named = sql.replace("APPLICATION app", f"APPLICATION app{number}")
        query = compile_pql(named)
        store.replace(path, application_file.encode(query, 2))
        changes = compare(query, compile_pql(named.replace("1 minute", "2 minutes")))
        begins = {"left": positions.Position("commit", seed)}
        for version in (1, 2):
            given = Version(f"app{number}", version, version - 1 or None, query, named, "ada", seed)
            write_version(
                join.home, replace(given, changes=tuple(changes), took_over={"view": version}, begins=begins)
            )
        ShadowFile(f"app{number}", 1, named, "ada", seed).write(join.home)
        found = Difference(seed, number, 2, 1, ({"x": number},), (), (({"x": 1}, {"x": None}),))
        at = {"view": ShadowPosition(seed, 5, number)}
        Progress(number, seed, at, at, {"o": found}, ("none",), seed).write(join.home, f"app{number}")
    asked_tasks.ask(join, 3)
    offer = handover.Offer("CREATE APPLICATION app;", "app.pql", seed + 1, {"file": str(seed)})
    answered = handover.TakeoverAnswer(handover.ask(join.home, "app"), seed, InputError("no"))
    handover.answer(join.home, "app", answered)
    handover.ask(join.home, "app", offer)
    store.make_folder("apps/app")
    store.replace(LEASE, lease.document("somebody", 1))
    _spark_checkpoint(made.home / _CHECKPOINT.folder)
    _replays(made)
    _queries(made)
    _window_record(made)
    for slicer in SLICERS:
        record = CoveredFiles(left, slicer)
        record.begin(partial(list, (f"{slicer.place}/{seed}.parquet", "/elsewhere/a.parquet")))
        for standing in (CommitsRead("events", 7 + seed), FilesDone(frozenset(["/in/a", f"/in/{seed}"]))):
            number = 1 + isinstance(standing, FilesDone)
            write_reading(join.home, Reading("app", slicer.stage, number, f"source {number}", standing))
    write_closing(join.home, Closing(1 + seed, compile_pql(QUERY), ("v",)))
    near.build(made.near, seed)
    return made


def _compact(category: Category) -> None:
    """Some commits in bundles of two, the newest as files of their own."""
    usual, compaction.SHAPE = compaction.SHAPE, FileShape(span=2, fan=99, recent=1, bundles_at_once=2)
    compaction.compact(category, history.bounds(category))
    compaction.SHAPE = usual


def _replays(made: Specimen) -> None:
    """As tasks leave them that are killed while they replay."""
    store, folder = open_store(made.join.home), f"{made.join.state_path}/replay"
    store.make_folder(folder)
    for task in range(TASKS):
        body = {"rows": 5 * task, "of": 10, "began_us": REPLAYED_US, "now_us": REPLAYED_US + 500_000}
        path = f"{folder}/{task}-of-{TASKS}.json"
        store.replace(path, document.encode(rebuild_progress.KIND, rebuild_progress.VERSION, body))


def _queries(made: Specimen) -> None:
    """Those that the join has been."""
    for number, spec in enumerate(SPECS, 1):
        remember(replace(made.join, join_kind=IntervalJoin(spec), query=number))


def use_queries(made: Specimen) -> Any:
    """What the join was: so its earlier steps are read."""
    now = replace(made.join, query=len(SPECS) + 1)
    return [config_at(now, number).join_kind for number in range(1, now.query)]


def _window_record(made: Specimen) -> None:
    """For an aggregate, the one that `use_windows` asks about."""
    write_record(aggregate_of(made), WindowRecord(REPLAYED_US, WindowOffset(3, 7, 500, None, 2, 100)))


def aggregate_of(made: Specimen) -> WindowConfig:
    window, settings = TimeWindow("tumbling", 10, 10), WindowSettings(0, 1)
    rows, late = "app.t.rows", "app.t.late"
    return WindowConfig(made.join.home, "app", "t.windows", rows, late, window, settings, (), (), 1)


def use_tables(made: Specimen) -> Any:
    """What checkpoints and commits together say of all rows."""
    usual, ledger.FAR = ledger.FAR, 0
    try:
        found = []
        for name in ("left", "right", "wide"):
            category = Category.open(made.join.home, name)
            known = category.range(category.first_commit(), category.next_commit())
            infos = known.infos(range(len(known.segment_rows)))
            found.append((known.segment_rows.tolist(), known.next_row, known.row_bytes, infos))
        return found
    finally:
        ledger.FAR = usual


def use_windows(made: Specimen) -> Any:
    """How an aggregate is doing."""
    return read_record(aggregate_of(made))


def _run_steps(made: Specimen, categories: tuple[Category, Category]) -> None:
    store, join = open_store(made.join.home), made.join
    records = StepLog(join.home, join.state_path)
    store.make_folder("sink/offsets")
    start = JoinOffset()
    for step in range(1, STEPS + 1):
        planned, summaries = planned_from(made, start)
        end = planned.end
        if made.pace.splits and step >= 3:
            end = end.moved(hot=[[_hash_of("a"), "left"]])
        settle()
        end = SnapshotFiles(join).remembering(start, end)
        records.write(record_of(start, planned, *summaries, planned_at_us=step))
        store.replace(f"sink/offsets/{step}.json", json.dumps(end.to_json()).encode())
        if step < STEPS:
            joined(join, start, end)
            for category, floor in zip(categories, (end.left_floor, end.right_floor), strict=True):
                category.set_reader(join.reader, floor)
                category.set_reader("another", 0)
            start = end
    settle()
    for category in categories:  # two of them: one can be taken for the other
        history.record_bounds(category, history.LogBounds(0, 0))


def _hash_of(key: str) -> int:
    return int(hash_keys([pa.array([key])])[0])


def _spark_checkpoint(root: Path) -> None:
    """As Spark's file source writes it."""
    log = root / "sources" / "0"
    log.mkdir(parents=True)
    (root / "offsets").mkdir()
    for batch in range(3):
        text = f'v1\n{{"batchWatermarkMs":0}}\n{{"logOffset":{batch}}}'
        _with_crc(root / "offsets" / str(batch), text.encode())
        entry = {"path": f"file:///in/{batch}.json", "timestamp": 100 + batch, "batchId": batch}
        _with_crc(log / str(batch), f"v1\n{json.dumps(entry)}".encode())


def _with_crc(path: Path, data: bytes) -> None:
    """A file as Hadoop writes it on local disk, with a CRC of every 512 bytes beside it."""
    path.write_bytes(data)
    sums = [zlib.crc32(data[start : start + 512]) for start in range(0, len(data), 512)]
    header = b"crc\0" + (512).to_bytes(4, "big")
    path.with_name(f".{path.name}.crc").write_bytes(header + b"".join(one.to_bytes(4, "big") for one in sums))


def planned_from(
    made: Specimen, start: JoinOffset
) -> tuple[Planned, tuple[list[CommitSummary], list[CommitSummary]]]:
    sides = ((made.join.left, start.left), (made.join.right, start.right))
    summaries = tuple(_summaries(Category.open(made.join.home, name), at) for name, at in sides)
    return plan(start, *summaries, made.pace, final=False), summaries  # type: ignore[return-value]


def _summaries(category: Category, start: int) -> list[CommitSummary]:
    return [summary(commit) for commit in category.commits(start, category.next_commit())]


def joined(join: JoinConfig, start: JoinOffset, end: JoinOffset) -> list[Any]:
    batches = [b for task in range(end.tasks) for b in run_step(join, task, start, end, OUTPUT)]
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=repr)


def forget() -> None:
    """What a process knows of files that it has read before: a new one knows nothing."""
    history.forget()
    live_index.unmap_all()


# --- what readers do ---


def offsets(made: Specimen) -> tuple[JoinOffset, JoinOffset]:
    """The last step that is done, and the one after it, as Spark gives them back."""
    said = []
    for step in (STEPS - 1, STEPS):
        path = made.home / f"sink/offsets/{step}.json"
        try:
            said.append(json.loads(path.read_bytes()))
        except ValueError as error:  # PySpark hands us values: what is not JSON is refused before
            raise CorruptFile("not JSON", where=str(path)) from error
    start, end = (JoinOffset.from_json(one) for one in said)
    return start, end


def _evolving(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The same rows with a new column in the middle; and without another."""
    batch = batch.add_column(4, pa.field("note", pa.int32()), pa.array(range(len(batch)), pa.int32()))
    yield batch
    yield batch.remove_column(batch.schema.get_field_index("agent"))


def use_log(made: Specimen) -> Any:
    """Everything that is in the categories, and the next step of the join, from the log and snapshots."""
    seen = []
    for name in ("left", "right", "wide"):
        category = Category.open(made.join.home, name)
        commits = category.commits(category.first_commit(), category.next_commit())
        rows = [category.open_segment(info).batch.to_pylist() for one in commits for info in one.segments]
        aside = [category.read_rejected(info) for one in commits for info in one.rejected]
        seen.append((category.definition, commits, rows, aside, category.readers()))
    return seen, use_state(made)


def use_state(made: Specimen) -> Any:
    """The next step, from the snapshots of the home and the log."""
    for file in (*made.index.glob("*/*/header.json"), *made.index.glob("*/snapshots/*")):
        file.unlink()
    return use_index(made)


def use_index(made: Specimen) -> Any:
    """The next step, from the live index where it can be used; and the totals before it."""
    start, end = offsets(made)
    planned = planned_from(made, start)[0].end
    rows = joined(made.join, start, end)
    totals = read_totals(made.join, start)
    return planned, rows, {name: totals[name] for name in totals if name != "step_us"}


def use_records(made: Specimen) -> Any:
    records = StepLog(made.join.home, made.join.state_path).read()
    measured = measure(made.join, now_us=10**15)
    return records, measured, why(made.join, ["a"]), why(made.join, ["nobody"])


def use_replay(made: Specimen) -> Any:
    """What it says is for a progress bar: the join goes on, whatever that is."""
    rebuild_progress.rebuilding(made.join, REPLAYED_US)
    return use_index(made)


def use_application(made: Specimen) -> Any:
    return [application_file.read_current(made.join.home, f"app{number}") for number in range(2)]


def use_versions(made: Specimen) -> Any:
    return [read_version(made.join.home, f"app{n // 2}", n % 2 + 1) for n in range(4)]


def use_shadows(made: Specimen) -> Any:
    home = made.join.home
    return [(read_shadow(home, f"app{n}"), read_progress(home, f"app{n}")) for n in range(2)]


def use_handover(made: Specimen) -> Any:
    """A request that cannot be read stops nobody, and an answer that cannot be read is none."""
    handover.Requests(made.join.home, "app").wanted()
    handover.answer_to(made.join.home, "app", "")
    return use_index(made)


def use_checkpoint(made: Specimen) -> Any:
    checkpoint = replace(_CHECKPOINT, home=made.join.home)
    return last_planned(checkpoint), [files_of_batch(checkpoint, batch) for batch in range(3)]


def use_local_snapshots(made: Specimen) -> Any:
    """The next step, from the snapshots that are beside the index."""
    for file in made.index.glob("*/*/header.json"):
        file.unlink()
    return use_index(made)


def use_tasks(made: Specimen) -> Any:
    """A number that is ignored is reported, and changes nothing."""
    found = asked_tasks.asked(made.join, TASKS)
    if found.trouble is not None:
        assert found.tasks == TASKS
        raise found.trouble
    return found


def use_progress(made: Specimen) -> Any:
    """A report that cannot be read is an error, which the coordinator tells and takes for silence."""
    return [read_reports(Category.open(made.join.home, name)) for name in ("left", "right", "wide")]


def use_slicers(made: Specimen) -> Any:
    """Which input files were read, as a slicer that starts finds it."""
    left = Category.open(made.join.home, "left")
    found = [CoveredFiles(left, slicer) for slicer in SLICERS]
    for record in found:
        record.begin(list)
    return [(sorted(one.files), one.next_batch) for one in found]


def use_readings(made: Specimen) -> Any:
    """Where sources of slicers begin, and where they were left."""
    return [read_reading(made.join.home, "app", slicer.stage, n) for slicer in SLICERS for n in (1, 2)]


def use_closing(made: Specimen) -> Any:
    """Which joins have to let out what they hold."""
    return read_closing(made.join.home, "app")


def use_lease(made: Specimen) -> Any:
    """It reads as somebody's, or as that of nobody who is alive; who wants it watches it in any case."""
    assert Lease(open_store(made.join.home), LEASE, "app").holder() is not None
    return None


def use_runs(made: Specimen) -> Any:
    """The next step of the theta join, with its index where that is sound."""
    return near.joined(made.near)


def use_owner(made: Specimen) -> Any:
    index_folders.sweep(made.index, made.join.home)
    return use_index(made)


Use = Callable[[Specimen], Any]
