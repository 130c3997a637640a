"""Kafka in beside Parquet in: what it costs to bring rows to the side of a join.

JSON records of about 200 bytes are in a topic, and the same rows in Parquet files. Both are sliced in this
process, without Spark, and the CPU time of the process is counted: for Kafka that of the client too, but not
the broker's. The clock is shown beside it, with the work of the broker in it. In the end the two sides are
compared row by row. Spark's own Kafka source parses the same topic beside it, and throws the rows away
(`connectors_spark.py`). Then the log on Kafka beside the log on disk (`connectors_log.py`). A broker is
started for it. It ends with status 1 if Kafka in reaches less than 0.7 of the rate of Parquet in, or the log
on Kafka less than half of that on disk (`connectors_marks.py`). See `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.command import Command, finish, tell
from bench.connectors_log import NOTE_BYTES, LogFigures, log_rates, log_table
from bench.connectors_marks import LEAST_IN, LEAST_LOG, Mark
from bench.connectors_spark import spark_cpu_s
from dovetail.connectors.kafka_client import Cluster, kafka
from dovetail.kafka.decoding import Decoder
from dovetail.kafka.formats import format_of
from dovetail.kafka.rejects import Rejects
from dovetail.kafka.topic import Topic
from dovetail.kafka.topic_intake import TopicIntake, TopicReading
from dovetail.log.category import Category
from dovetail.model.validity import Validity
from dovetail.slicing.category_intake import CategoryIntake
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.direct import direct_slice
from dovetail.slicing.folder_intake import FolderIntake
from dovetail.slicing.intake import Intake
from dovetail.slicing.parquet_form import ParquetForm
from dovetail.slicing.resident import ResidentSlicer

if TYPE_CHECKING:
    from rich.table import Table

TOPIC, FILES = "rows", 8
SPARK = "spark's kafka source"
UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [("id", pa.int64()), ("user", pa.string()), ("t", UTC), ("amount", pa.float64()), ("note", pa.string())]
)
SIDE = pa.schema(
    [
        ("_hash", pa.int64()),
        ("_time", pa.int64()),
        ("_key_0", pa.string()),
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("note", pa.string()),
    ]
)
PICKED = {"_key_0": "user", "t": "t", "id": "id", "amount": "amount", "note": "note"}


def command() -> Command:
    made = Command("connectors", __doc__)
    made.number("--rows", 2_000_000, "rows in the topic, and in the files")
    made.number("--partitions", 4, "partitions of the topic")
    made.count("--spark", 1, "1: also Spark's own Kafka source, in a process of its own; 0 leaves it out")
    made.count("--log-rows", 4_000_000, "rows for the log on Kafka and on disk; 0 leaves this part out")
    made.number("--repeat", 3, "runs of each, alternating; the first is a warm-up")
    return made


@dataclass(frozen=True)
class Figures:
    """CPU seconds of the runs after the warm-up, by way in, and seconds by the clock."""

    rows: int
    cpu_s: dict[str, list[float]]
    clock_s: dict[str, list[float]] = field(default_factory=dict)

    def rows_per_cpu_s(self, way: str) -> float:
        return self.rows / statistics.median(self.cpu_s[way])

    @property
    def ratio(self) -> float:
        """Kafka's rate to that of Parquet."""
        return self.rows_per_cpu_s("kafka") / self.rows_per_cpu_s("parquet")

    @property
    def beside_spark(self) -> float | None:
        """Kafka's rate to that of Spark's own source."""
        if SPARK not in self.cpu_s:
            return None
        return self.rows_per_cpu_s("kafka") / self.rows_per_cpu_s(SPARK)


def main(argv: Sequence[str]) -> int:
    given = command().parse_args(argv)
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as brokers:
        found = measured(Path(folder), brokers, given.rows, given.partitions, given.repeat)
        if given.spark:
            found.cpu_s[SPARK] = spark_cpu_s(brokers, TOPIC, given.rows, given.repeat)
            tell(f"{SPARK}: {', '.join(f'{one:.2f}' for one in found.cpu_s[SPARK])} CPU seconds")
        widths = NOTE_BYTES if given.log_rows else ()
        logs = [log_rates(folder, brokers, given.log_rows, given.repeat, width) for width in widths]
    judged = marks(found, logs)
    holds = all(one.holds for one in judged)
    said = asdict(found) | {
        "ratio": found.ratio,
        "beside_spark": found.beside_spark,
        "log": [one.to_json() for one in logs],
        "verdicts": [one.to_json() for one in judged],
        "holds": holds,
    }
    finish(given.json, said, lambda: _print(judged, table(found), *map(log_table, logs)))
    return 0 if holds else 1


def marks(found: Figures, logs: Sequence[LogFigures]) -> list[Mark]:
    """Kafka in by the CPU: its rates are per core. The log by the clock, with the work of the broker."""
    into = Mark("Kafka in to Parquet in", found.cpu_s["kafka"], found.cpu_s["parquet"], LEAST_IN)
    return [
        into,
        *(
            Mark(
                f"log on Kafka to log on disk, {one.width} rows",
                one.clock_s["kafka"],
                one.clock_s["disk"],
                LEAST_LOG,
            )
            for one in logs
        ),
    ]


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """The address of a broker."""
    from dovetail_dev.kafka_broker import Broker

    (folder / "broker").mkdir()
    broker = Broker(folder / "broker")
    broker.start()
    try:
        yield broker.address
    finally:
        broker.kill()


def measured(folder: Path, brokers: str, rows: int, partitions: int, repeat: int) -> Figures:
    tell(f"writing {rows:,} records and the same rows as Parquet")
    fill(brokers, rows, partitions)
    files(folder / "files", rows)
    ways = {
        "kafka": lambda home: from_topic(home, brokers),
        "parquet": lambda home: from_files(home, folder / "files"),
    }
    found = Figures(rows, {way: [] for way in ways}, {way: [] for way in ways})
    for run in range(repeat + 1):
        for way, bring in ways.items():
            began_s, began_cpu_s = time.perf_counter(), _cpu_s()
            bring(str(folder / f"{way}{run}"))
            clock_s, cpu_s = time.perf_counter() - began_s, _cpu_s() - began_cpu_s
            tell(f"{way}: {cpu_s:.2f} CPU seconds in {clock_s:.2f} s" + ("" if run else ", warm-up"))
            if run:
                found.cpu_s[way].append(cpu_s)
                found.clock_s[way].append(clock_s)
            assert rows_in(str(folder / f"{way}{run}")) == rows, way
    kafka_rows, parquet_rows = (side_rows(str(folder / f"{way}{repeat}")) for way in ways)
    assert kafka_rows.equals(parquet_rows), "the two sides differ"
    return found


def values(start: int, stop: int) -> Iterator[bytes]:
    note = b"x" * 105
    for n in range(start, stop):
        moment = b"2026-01-01T%02d:%02d:%02d.%03dZ" % (n // 3600 % 24, n // 60 % 60, n % 60, n % 1000)
        head = b'{"id": %d, "user": "user-%06d", "t": "%s", ' % (n, n % 100_000, moment)
        yield head + b'"amount": %d.5, "note": "%s"}' % (n % 1000, note)


def fill(address: str, rows: int, partitions: int) -> None:
    client = kafka("bench connectors")
    admin = client.admin.AdminClient({"bootstrap.servers": address})
    admin.create_topics([client.admin.NewTopic(TOPIC, partitions, 1)])[TOPIC].result(30)
    producer = client.Producer({"bootstrap.servers": address, "linger.ms": 20})
    for start in range(0, rows, 10_000):
        messages: list[dict[str, Any]] = [
            {"value": value} for value in values(start, min(rows, start + 10_000))
        ]
        assert producer.produce_batch(TOPIC, messages) == len(messages)
        producer.flush(60)


def files(folder: Path, rows: int) -> None:
    folder.mkdir()
    made = format_of("json", SCHEMA, "iso", ",")
    for number in range(FILES):
        part = list(values(rows * number // FILES, rows * (number + 1) // FILES))
        pq.write_table(made.rows(pa.array(part)), folder / f"{number}.parquet")


def from_topic(home: str, address: str) -> None:
    """Into the category of the input table, and from there to the side."""
    category = Category.create(home, "app.rows", SCHEMA, buckets=1)
    slicer = Slicer("app", "rows", TOPIC)
    decoder = Decoder(SCHEMA, format_of("json", SCHEMA, "iso", ","), {})
    rejects = Rejects(home, "app.rejects.rows", slicer.producer, TOPIC)

    def intake() -> Intake:
        topic = Topic(Cluster(address), TOPIC)
        return TopicIntake(
            category, slicer, topic, decoder, rejects, TopicReading(finite=True), time_column="t"
        )

    _slice(category, slicer, intake)
    side, short = _side(home, SCHEMA)
    reader = Slicer("app", "side", "app.rows")
    _slice(side, reader, lambda: CategoryIntake(side, reader, short))


def from_files(home: str, folder: Path) -> None:
    side, short = _side(home, pq.read_schema(folder / "0.parquet"))
    slicer = Slicer("app", "side", str(folder))
    form = ParquetForm(short, SCHEMA.names)
    _slice(side, slicer, lambda: FolderIntake(side, slicer, lambda covered: form, "app.vanished.rows"))


def rows_in(home: str) -> int:
    side = Category.open(home, "app.side")
    return side.commit(side.next_commit() - 1).next_row


def side_rows(home: str) -> pa.Table:
    """All rows of the side, in the order of their numbers."""
    side = Category.open(home, "app.side")
    batches = [
        side.open_segment(segment).batch
        for commit in side.commits(side.first_commit(), side.next_commit())
        for segment in commit.segments
    ]
    return pa.Table.from_batches(batches).sort_by("id").combine_chunks()


def table(found: Figures) -> Table:
    from rich.table import Table

    heads = "way in", "rows per CPU second", "CPU seconds", "rows per second", "seconds"
    made = Table(*heads, box=None, pad_edge=False)
    for way, taken_s in found.cpu_s.items():
        clock_s = found.clock_s.get(way, [])
        made.add_row(way, *_rate(found.rows, taken_s), *(_rate(found.rows, clock_s) if clock_s else ()))
    made.add_row("kafka to parquet", f"{found.ratio:.2f}")
    if found.beside_spark is not None:
        made.add_row(f"kafka to {SPARK}", f"{found.beside_spark:.2f}")
    return made


def _rate(rows: int, taken_s: Sequence[float]) -> tuple[str, str]:
    return f"{rows / statistics.median(taken_s):,.0f}", ", ".join(f"{one:.2f}" for one in taken_s)


def _side(home: str, stored: pa.Schema) -> tuple[Category, Any]:
    side = Category.create(home, "app.side", SIDE, buckets=64, role="side")
    short = direct_slice(stored, side, PICKED, ["_key_0"], "t", Validity())
    assert short is not None
    return side, short


def _slice(category: Category, slicer: Slicer, intake: Callable[[], Intake]) -> None:
    resident = ResidentSlicer(category, slicer, intake, finite=True)
    resident.run()
    if resident.error is not None:
        raise resident.error


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _print(judged: Sequence[Mark], *shown: Table) -> None:
    from rich.console import Console

    for one in shown:
        Console().print(one, "")
    for mark in judged:
        Console().print(mark.words, highlight=False, soft_wrap=True)
