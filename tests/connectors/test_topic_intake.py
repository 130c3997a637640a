"""A topic into a category, record by record: against a broker, without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.topics import Topics
from dovetail.connectors.kafka_client import Cluster
from dovetail.connectors.schema_registry import Registry
from dovetail.errors import InputError
from dovetail.kafka import topic_intake
from dovetail.kafka.decoding import Decoder
from dovetail.kafka.formats import format_of
from dovetail.kafka.rejects import Rejects
from dovetail.kafka.topic import Topic
from dovetail.kafka.topic_intake import TopicIntake, TopicReading
from dovetail.kafka.topic_reader import TopicReader
from dovetail.log.category import Category
from dovetail.log.source_progress import SourceReport, read_reports
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.resident import ResidentSlicer
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import until

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


class Taking:
    """One input table: a topic that is taken into a category of a home."""

    def __init__(
        self,
        home: Path | str,
        address: str,
        topic: str,
        *,
        schema: pa.Schema = SCHEMA,
        form: str = "json",
        fields: dict[str, str] | None = None,
        registry: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        **reading: Any,
    ) -> None:
        self.category = Category.create(str(home), "app.t", schema, buckets=1)
        self._address, self._topic, self._reading = address, topic, reading
        self._clock = clock
        self._slicer = Slicer("app", "t", topic)
        values = pa.schema([one for one in schema if one.name not in (fields or {}).values()])
        made = format_of(form, values, "iso", ",", Registry(registry) if registry else None)
        self._decoder = Decoder(schema, made, fields or {})

    def slicer(self, *, finite: bool, **how: Any) -> ResidentSlicer:
        return ResidentSlicer(self.category, self._slicer, lambda: self.open(finite), finite=finite, **how)

    def run(self) -> None:
        """Take what there is."""
        slicer = self.slicer(finite=True)
        slicer.run()
        if slicer.error is not None:
            raise slicer.error

    def rows(self, name: str = "app.t") -> list[dict[str, Any]]:
        category = Category.open(self.category.home, name)
        return [
            row
            for commit in category.commits(category.first_commit(), category.next_commit())
            for segment in commit.segments
            for row in category.open_segment(segment).batch.to_pylist()
        ]

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.rows())

    def rejects(self) -> list[dict[str, Any]]:
        return self.rows("app.rejects.t")

    def report(self) -> SourceReport:
        until(lambda: bool(read_reports(self.category)), "such a report")
        return read_reports(self.category)[0]

    def open(self, finite: bool) -> TopicIntake:
        topic = Topic(Cluster(self._address), self._topic)
        aside = Rejects(self.category.home, "app.rejects.t", self._slicer.producer, self._topic)
        reading = TopicReading(**{"finite": finite, **self._reading})
        return TopicIntake(
            self.category, self._slicer, topic, self._decoder, aside, reading, clock=self._clock
        )


def numbered(start: int, stop: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}"} for number in range(start, stop)]


def test_each_record_is_a_row_once_over_many_runs(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make(partitions=3)
    taking = Taking(tmp_path, topics.address, topic)
    for start in (0, 1000, 1500):
        topics.write(topic, numbered(start, start + (1000 if start == 0 else 500)))
        taking.run()
        assert taking.ids() == list(range(start + (1000 if start == 0 else 500)))
    taking.run()
    assert taking.ids() == list(range(2000))


def test_two_hundred_partitions_most_of_them_empty(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make(partitions=200)
    taking = Taking(tmp_path, topics.address, topic)
    for partition in (3, 77, 199):
        topics.write(topic, numbered(partition * 10, partition * 10 + 5), partition=partition)
    taking.run()
    assert taking.ids() == [*range(30, 35), *range(770, 775), *range(1990, 1995)]


def test_aborted_and_open_transactions_are_hidden(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    taking = Taking(tmp_path, topics.address, topic)
    topics.write_in_transaction(topic, numbered(0, 10), commit=True)
    topics.write_in_transaction(topic, numbered(100, 110), commit=False)
    topics.write_in_transaction(topic, numbered(10, 20), commit=True)
    taking.run()  # ends although the last offsets are marks, not records
    assert taking.ids() == list(range(20))
    topics.write_in_transaction(topic, numbered(200, 210), commit=False)
    taking.run()
    assert taking.ids() == list(range(20))


def test_a_compacted_topic_has_gaps(tmp_path: Path, broker: Broker, topics: Topics) -> None:
    topic = topics.make(
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="100",
    )
    start_ms = 1_700_000_000_000  # records that are a second apart are in segments of their own
    for number in range(5):
        topics.write_raw(topic, [b'{"id": %d}' % number], key=b"same", timestamp=start_ms + number * 1000)
    topics.write_raw(topic, [b'{"id": 50}'], key=b"other", timestamp=start_ms + 100_000)
    until(lambda: len(topics.read(topic)) == 2, "the rows")
    taking = Taking(tmp_path, topics.address, topic)
    taking.run()
    assert taking.ids() == [4, 50]
    topics.write_raw(topic, [b'{"id": 51}'], key=b"third")
    taking.run()
    assert taking.ids() == [4, 50, 51]


@pytest.mark.parametrize("on_kafka", [False, True], ids=["on disk", "on Kafka"])
def test_a_record_of_five_megabytes(
    tmp_path: Path, broker: Broker, topics: Topics, *, on_kafka: bool
) -> None:
    """Into a home on disk, and into one on Kafka."""
    topic = topics.make(max_message_bytes="20000000")
    home = f"kafka://{broker.address}/{topic}" if on_kafka else tmp_path
    name = "x" * 5_000_000
    topics.write(topic, [{"id": 1, "name": "small"}, {"id": 2, "name": name}, {"id": 3, "name": "small"}])
    taking = Taking(home, topics.address, topic)
    taking.run()
    assert [(row["id"], len(row["name"])) for row in taking.rows()] == [(1, 5), (2, 5_000_000), (3, 5)]


def test_records_that_cannot_be_read_are_kept_aside(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    values = [
        b'{"id": 0}',
        b"not json",
        b'{"id": "text"}',
        b'{"id": 3, "name": "\xff"}',
        b'{"id": 4}{"id": 5}',
    ]
    topics.write_raw(topic, [*values, b' {"id": 6}\n', None, b'{"id": 8,\n "more": [1]}'])
    taking = Taking(tmp_path, topics.address, topic)
    taking.run()
    assert [row["id"] for row in taking.rows()] == [0, 6, None, 8]
    assert [(row["partition"], row["offset"]) for row in taking.rejects()] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert {row["topic"] for row in taking.rejects()} == {topic}
    assert taking.rejects()[0]["raw"] == "not json"
    assert all(row["reason"] for row in taking.rejects())


def test_parts_of_a_record_are_columns(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make(partitions=2)
    topics.write_raw(
        topic,
        [b"payload"],
        partition=1,
        key=b"k",
        headers=[("trace", b"7"), ("to", b"x")],
        timestamp=1_700_000_000_123,
    )
    schema = pa.schema(
        [
            ("value", pa.string()),
            ("k", pa.string()),
            ("h", pa.map_(pa.string(), pa.string())),
            ("p", pa.int32()),
            ("o", pa.int64()),
            ("t", pa.timestamp("us", "UTC")),
        ]
    )
    fields = {"key": "k", "headers": "h", "partition": "p", "offset": "o", "timestamp": "t"}
    taking = Taking(tmp_path, topics.address, topic, schema=schema, form="raw", fields=fields)
    taking.run()
    (row,) = taking.rows()
    assert row.pop("t").timestamp() == 1_700_000_000.123
    assert row == {"value": "payload", "k": "k", "h": [("trace", "7"), ("to", "x")], "p": 1, "o": 0}


def test_latest_means_the_same_after_a_crash(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    topics.write(topic, numbered(0, 10))
    taking = Taking(tmp_path, topics.address, topic, start="latest")
    taking.run()
    assert taking.ids() == []
    topics.write(topic, numbered(10, 20))
    taking.run()
    assert taking.ids() == list(range(10, 20))


def test_starts_at_offsets_or_at_a_moment(tmp_path: Path, topics: Topics) -> None:
    from datetime import UTC, datetime

    topic = topics.make(partitions=2)
    topics.write(topic, numbered(0, 10), partition=0)
    topics.write(topic, numbered(10, 20), partition=1)
    taking = Taking(tmp_path / "offsets", topics.address, topic, start={0: 8})
    taking.run()
    assert taking.ids() == [8, 9, *range(10, 20)]
    dated = topics.make("dated")
    for number in range(5):
        topics.write_raw(dated, [b'{"id": %d}' % number], timestamp=1_700_000_000_000 + number * 1000)
    moment = datetime.fromtimestamp(1_700_000_003, UTC)
    taking = Taking(tmp_path / "moment", topics.address, dated, start=moment)
    taking.run()
    assert taking.ids() == [3, 4]


def test_partitions_that_are_added_are_read_from_their_beginning(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    taking = Taking(tmp_path, topics.address, topic, start="latest")
    slicer = taking.slicer(finite=False)
    slicer.start()
    try:
        until(lambda: taking.category.next_commit() > 0, "the rows")
        topics.grow(topic, 3)
        topics.write(topic, numbered(0, 100), partition=2)
        until(lambda: len(taking.ids()) == 100, "the rows")
        until(lambda: taking.report().state == "empty", "such a report")
        assert taking.report().rows == 0
    finally:
        slicer.stop()
    assert taking.ids() == list(range(100))


def test_offsets_that_are_gone_stop_the_run(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    taking = Taking(tmp_path, topics.address, topic)
    topics.write(topic, numbered(0, 5))
    taking.run()
    topics.write(topic, numbered(5, 20))
    topics.cut(topic, 0, 12)
    with pytest.raises(InputError, match="offsets 5 to 11 of partition 0") as refused:
        taking.run()
    assert "on_data_loss" in str(refused.value)
    goes_on = Taking(tmp_path, topics.address, topic, goes_on=True)
    goes_on.run()
    assert goes_on.ids() == [*range(5), *range(12, 20)]
    assert [(row["offset"], row["reason"]) for row in goes_on.rejects()] == [
        (5, "offsets 5 to 11 were gone before they were read")
    ]


def test_offsets_behind_the_end_stop_the_run(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    topics.write(topic, numbered(0, 10))
    with pytest.raises(InputError, match="ends at offset 10, and was read up to 99 before"):
        Taking(tmp_path, topics.address, topic, start={0: 99}).run()


@pytest.fixture
def asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers are asked with every look, also while a clock of the test stands still: an answer may have come
    too late once."""
    monkeypatch.setattr(topic_intake, "ASK_EVERY_S", 0.0)


def test_a_limit_of_records_per_second(tmp_path: Path, topics: Topics, asked_again: None) -> None:
    """By a clock of the test: never more than the time that has passed allows, and never more than a second's
    at once."""
    topic = topics.make(partitions=2)
    topics.write(topic, numbered(0, 1000))
    now_s = [0.0]
    taking = Taking(tmp_path, topics.address, topic, records_per_s=100, clock=lambda: now_s[0])
    intake = taking.open(finite=False)
    for moment_s, allowed in ((0.0, 0), (0.5, 50), (0.75, 75), (60.0, 175)):
        now_s[0] = moment_s
        until(lambda allowed=allowed: intake.look() and intake.fetched >= allowed, "the records")
        for _ in range(5):
            intake.look()
        assert intake.fetched == allowed
    intake.close()


def test_what_brokers_have_and_the_log_has_not_is_reported(
    tmp_path: Path, topics: Topics, asked_again: None
) -> None:
    """Consumer lag: as many rows as offsets tell, while the limit holds reading up, and none at the end."""
    topic = topics.make(partitions=2)
    topics.write(topic, numbered(0, 1000))
    now_s = [0.0]
    taking = Taking(tmp_path, topics.address, topic, records_per_s=300, clock=lambda: now_s[0])
    slicer = taking.slicer(finite=False)
    slicer.start()
    try:
        for moment_s, lag in ((0.0, 1000), (1.0, 700), (2.0, 400), (3.0, 100), (4.0, 0)):
            now_s[0] = moment_s
            until(lambda lag=lag: taking.report().rows == lag, f"a report of {lag} rows")
            assert taking.report().state != "empty" or lag == 0
    finally:
        slicer.stop()
    assert taking.ids() == list(range(1000))


def test_records_that_go_while_a_topic_is_read(topics: Topics) -> None:
    """The reader says which partition is astray, and loses nothing of the others."""
    topic = topics.make(partitions=2)
    for partition in (0, 1):
        topics.write(topic, numbered(100 * partition, 100 * partition + 20), partition=partition)
    topics.cut(topic, 0, 12)
    reader = TopicReader(Topic(Cluster(topics.address), topic), ())
    reader.add({0: 3, 1: 0})
    offsets: list[int] = []

    def ended() -> bool:
        records = reader.read(1000, 0.1)
        assert set(records.partitions) <= {1}
        offsets.extend(records.offsets)
        return reader.astray == {0} and len(offsets) == 20

    until(ended, "all of the other partition")
    assert offsets == list(range(20))
    reader.move(0, 12)
    until(lambda: offsets.extend(reader.read(1000, 0.1).offsets) or len(offsets) == 28, "the rest")
    assert offsets[20:] == list(range(12, 20))
    reader.close()


def test_a_topic_that_was_made_again_is_another_one(tmp_path: Path, topics: Topics) -> None:
    """While it is deleted it is waited for."""
    topic = topics.make()
    taking = Taking(tmp_path, topics.address, topic)
    topics.write(topic, numbered(0, 5))
    slicer = taking.slicer(finite=False)
    slicer.start()
    until(lambda: len(taking.rows()) == 5, "the rows")
    topics.delete(topic)
    until(lambda: "waiting for topic" in (taking.report().trouble or ""), "such a report")
    topics.make_again(topic)
    topics.write(topic, numbered(100, 200))
    until(lambda: slicer.error is not None, "an end")
    with pytest.raises(InputError, match="deleted and made again"):
        taking.run()
    assert taking.ids() == list(range(5))


def test_waits_for_a_topic_that_is_not_there(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    topics.delete(topic)
    taking = Taking(tmp_path, topics.address, topic)
    slicer = taking.slicer(finite=False)
    slicer.start()
    try:
        until(lambda: "waiting for topic" in (taking.report().trouble or ""), "such a report")
        assert taking.report().state == "waiting"
        topics.make_again(topic)
        topics.write(topic, numbered(0, 5))
        until(lambda: taking.ids() == list(range(5)), "the rows")
        until(lambda: taking.report().trouble is None, "such a report")
    finally:
        slicer.stop()


def test_a_broker_that_dies_is_waited_for_and_nothing_is_lost(
    tmp_path: Path, mortal: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_intake, "BACK_S", 3600.0)  # however long it takes to look, below
    topics = Topics(mortal.address, "mortal")
    topic = topics.make(partitions=2)
    topics.write(topic, numbered(0, 100))
    taking = Taking(tmp_path, mortal.address, topic)
    slicer = taking.slicer(finite=False)
    slicer.start()
    until(lambda: len(taking.rows()) == 100, "the rows")
    mortal.kill()
    until(lambda: "waiting for brokers" in (taking.report().trouble or ""), "such a report")
    assert taking.report().state == "waiting"  # which is not idle
    mortal.start()
    topics.write(topic, numbered(100, 200))
    until(lambda: len(taking.rows()) == 200, "the rows")
    until(lambda: taking.report().trouble is None, "such a report")
    assert taking.report().state != "empty", "others who write may not have come back yet"
    slicer.stop()
    assert slicer.error is None
    assert taking.ids() == list(range(200))


def test_a_crash_anywhere_repeats_nothing(tmp_path: Path, topics: Topics, monkeypatch: Any) -> None:
    """Between the rejects of a batch and its rows, and after its rows."""
    topic = topics.make(partitions=2)
    taking = Taking(tmp_path, topics.address, topic)
    written = 0
    for point in ("written", "committed", "begun", "written"):
        topics.write(topic, numbered(written, written + 50))
        topics.write_raw(topic, [b"bad %d" % written])
        written += 50
        died = threading.Event()

        def dies(kind: str, place: str, point: str = point, died: threading.Event = died) -> None:
            if place == point and not died.is_set() and taking.category.next_commit():
                died.set()
                raise RuntimeError("died")

        for module in ("dovetail.slicing.resident", "dovetail.slicing.sides"):
            monkeypatch.setattr(f"{module}.crash_point", dies)
        slicer = taking.slicer(finite=True)
        slicer.run()
        monkeypatch.undo()
        taking.run()
        assert taking.ids() == list(range(written))
        assert len(taking.rejects()) == written // 50
