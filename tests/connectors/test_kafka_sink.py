"""A topic as a sink: a batch counts once, whatever dies when."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition

from connectors.topics import Topics
from dovetail.connectors.kinds import SINKS, STORAGES
from dovetail.connectors.options import with_defaults
from dovetail.connectors.secret import reveal
from dovetail.connectors.sink import Sink, Writer
from dovetail.connectors.sinks import kafka as kafka_sink
from dovetail.connectors.sinks.kafka import KafkaSink
from dovetail.errors import PlaceError, PlanError, StateError, Unreachable
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import PATIENCE_S, until

SCHEMA = pa.schema([("k", pa.int64()), ("word", pa.string())])
pytestmark = pytest.mark.usefixtures("slow_is_not_away")


def opened(
    address: str, topic: str, checkpoint: str = "one", home: str = "home", app: str = "app", **more: Any
) -> Sink:
    options = {"topic": topic, "brokers": address, **more}
    given = reveal(with_defaults(STORAGES["KAFKA"], options.items()).items())
    return SINKS["KAFKA"].open(given, Writer(app, "pairs", checkpoint, home))


def rows(keys: Iterable[int]) -> pa.Table:
    words = ["", None, 'a "b"', "ü\n\\"]
    return pa.table({"k": list(keys), "word": [words[key % 4] for key in keys]}, SCHEMA)


def written(sink: Sink, table: pa.Table) -> list[str]:
    output = sink.output(table.schema)
    assert output.write([]) is None
    said = [output.write(part.to_batches(max_chunksize=3)) for part in (table.slice(0, 5), table.slice(5))]
    return [one for one in said if one is not None]


def values(topics: Topics, topic: str) -> list[dict[str, Any]]:
    found = [json.loads(value) for _, value in topics.read(topic) if value is not None]
    return sorted(found, key=lambda row: int(row["k"]))


def patiently(sink: Sink, batch: int, records: list[str]) -> None:
    """As a run does: a broker that has just started may not know yet that it is the coordinator."""

    def committed() -> bool:
        try:
            sink.commit(batch, records)
        except Unreachable:
            return False
        return True

    until(committed, "the batch is written")


def test_a_batch_counts_once(topics: Topics) -> None:
    topic = topics.make(partitions=3)
    sink = opened(topics.address, topic)
    sink.check(SCHEMA)
    sink.prepare(SCHEMA)
    assert sink.last() == -1
    first = written(sink, rows(range(10)))
    assert topics.read(topic) == [], "nobody sees what no commit names"
    sink.commit(0, first)
    sink.commit(0, first)
    assert sink.last() == 0
    sink.commit(3, written(sink, rows(range(10, 20))))
    again = opened(topics.address, topic)
    again.prepare(SCHEMA)
    assert again.last() == 3
    again.commit(3, written(again, rows(range(10, 20))))
    again.commit(4, written(again, rows(range(20, 25))))
    assert values(topics, topic) == rows(range(25)).to_pylist()


def test_keys_and_formats(topics: Topics) -> None:
    for form, expected in (("json", b'{"k":1,"word":null}'), ("csv", b"1,"), ("raw", None)):
        topic = topics.make(form)
        sink = opened(topics.address, topic, key=("k",), format=form)
        sink.prepare(SCHEMA)
        sink.commit(0, written(sink, rows([1])))
        assert topics.read(topic) == [(b"1", expected)]


def test_a_row_of_five_megabytes(topics: Topics) -> None:
    topic = topics.make(max_message_bytes="20000000")
    large = pa.table({"k": [1], "word": ["x" * 5_000_000]}, SCHEMA)
    small = opened(topics.address, topic)
    small.prepare(SCHEMA)
    with pytest.raises(PlaceError, match="a row is larger than a record may be") as refused:
        small.commit(0, written(small, large))
    assert "message_max_bytes" in str(refused.value)
    sink = opened(topics.address, topic, message_max_bytes="20000000")
    sink.commit(0, written(sink, large))
    assert [len(row["word"]) for row in values(topics, topic)] == [5_000_000]


@pytest.mark.parametrize("committed", [False, True])
def test_two_applications_write_one_topic(topics: Topics, committed: bool) -> None:
    """They take turns with batches of the same numbers. One dies with a batch in its transaction, or after
    it. The other goes on meanwhile, and the batch that comes again is there once."""
    topic = topics.make(partitions=3)
    one, other = (opened(topics.address, topic, app=app) for app in ("one", "other"))
    for sink in (one, other):
        sink.check(SCHEMA)
        sink.prepare(SCHEMA)
        assert sink.last() == -1
    for batch in range(3):
        one.commit(batch, written(one, rows(range(batch * 10, batch * 10 + 6))))
        other.commit(batch, written(other, rows(range(100 + batch * 10, 106 + batch * 10))))
    dies(topics.address, topic, "after" if committed else "before", app="one", batch=3)
    other.commit(3, written(other, rows(range(130, 140))))
    again = opened(topics.address, topic, app="one")
    again.check(SCHEMA)
    again.prepare(SCHEMA)
    assert again.last() == (3 if committed else 2)
    again.commit(3, written(again, rows(range(30, 40))))
    other.commit(3, written(other, rows(range(130, 140))))
    other.commit(4, written(other, rows(range(140, 146))))
    again.commit(4, written(again, rows(range(40, 46))))
    assert (again.last(), other.last()) == (4, 4)
    each = [*range(6), *range(10, 16), *range(20, 26), *range(30, 46)]
    assert values(topics, topic) == rows([*each, *(100 + key for key in each)]).to_pylist()


DIES = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from connectors.test_kafka_sink import opened, rows, written
from dovetail.connectors.sinks import kafka
import os
sink = opened(sys.argv[2], sys.argv[3], app=sys.argv[5])
sink.prepare(rows([]).schema)
point, batch = sys.argv[4], int(sys.argv[6])
sink.begin()
real = sink.producer
class Dying:
    def __getattr__(self, name):
        return getattr(real, name)
    def commit_transaction(self, *given):
        if point == "before":
            real.flush(30)
            os._exit(9)
        real.commit_transaction(*given)
        os._exit(9)
sink.producer = Dying()
sink.commit(batch, written(sink, rows(range(batch * 10, batch * 10 + 10))))
"""


def dies(address: str, topic: str, point: str, *, app: str = "app", batch: int = 0) -> None:
    """A process that commits a batch of ten rows, and ends right before or after that."""
    tests = Path(__file__).parents[1]
    folders = f"{tests}:{tests.parent / 'dev'}"
    given = (folders, address, topic, point, app, str(batch))
    died = subprocess.run([sys.executable, "-c", DIES, *given], check=False, timeout=300)
    assert died.returncode == 9


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_process_that_dies_around_the_commit(topics: Topics, point: str) -> None:
    """Before it nothing is there, and after it nothing is written again."""
    topic = topics.make()
    dies(topics.address, topic, point)
    sink = opened(topics.address, topic)
    sink.prepare(SCHEMA)
    assert sink.last() == (-1 if point == "before" else 0)
    sink.commit(0, written(sink, rows(range(10))))
    sink.commit(1, written(sink, rows(range(10, 20))))
    assert values(topics, topic) == rows(range(20)).to_pylist()


def test_a_second_writer_shuts_out_the_first(topics: Topics) -> None:
    topic = topics.make()
    first, second = opened(topics.address, topic), opened(topics.address, topic)
    first.prepare(SCHEMA)
    first.commit(0, written(first, rows([0])))
    second.prepare(SCHEMA)
    second.commit(1, written(second, rows([1])))
    with pytest.raises(StateError, match="another run"):
        first.commit(2, written(first, rows([2])))
    second.commit(2, written(second, rows([2])))
    assert values(topics, topic) == rows(range(3)).to_pylist()


def test_another_home_must_not_fill_the_topic_again(topics: Topics) -> None:
    topic = topics.make()
    sink = opened(topics.address, topic)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, rows([0])))
    with pytest.raises(StateError, match="another home"):
        opened(topics.address, topic, checkpoint="two", home="elsewhere").check(SCHEMA)


def test_brokers_that_stop_answering_before_they_say_who_else_writes_are_waited_for(
    mortal: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no leave to fill the topic again, and no error that is none of ours."""
    topics = Topics(mortal.address, "alone")
    topic, made = topics.make(), kafka_sink.made

    class Hanging:
        def __init__(self, real: Any) -> None:
            self.real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

        def list_topics(self, **given: Any) -> Any:
            found = self.real.list_topics(**given)
            mortal.hang()
            monkeypatch.setattr(kafka_sink, "ANSWER_S", 1.0)
            return found

    monkeypatch.setattr(kafka_sink, "made", lambda *given: Hanging(made(*given)))
    try:
        with pytest.raises(Unreachable, match="waiting for brokers"):
            opened(mortal.address, topic).check(SCHEMA)
    finally:
        mortal.go_on()


def test_at_least_once_writes_a_batch_again(topics: Topics) -> None:
    topic = topics.make()
    sink = opened(topics.address, topic, delivery="at least once")
    sink.prepare(SCHEMA)
    for _ in range(2):
        assert sink.last() == -1
        sink.commit(0, written(sink, rows([7])))
    assert values(topics, topic) == rows([7, 7]).to_pylist()


def test_what_is_wrong_is_found_before_anything_starts(topics: Topics) -> None:
    topic = topics.make()
    with pytest.raises(PlaceError, match="no topic"):
        opened(topics.address, "nothing").check(SCHEMA)
    with pytest.raises(PlanError, match="no column nobody"):
        opened(topics.address, topic, key=("nobody",)).check(SCHEMA)
    with pytest.raises(PlanError, match="writes one column"):
        opened(topics.address, topic, format="raw").check(SCHEMA)


def test_a_client_that_does_not_come_back_is_left_behind(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs with the rows in its transaction, and goes on when the next one has written them."""
    topic = topics.make()
    sink = opened(topics.address, topic)
    assert isinstance(sink, KafkaSink)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, rows(range(5))))
    real, goes_on, ended = sink.producer, threading.Event(), SimpleQueue[str]()

    class Hanging:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def send_offsets_to_transaction(self, *given: Any) -> None:
            goes_on.wait(PATIENCE_S)
            try:
                real.send_offsets_to_transaction(*given)
            except KafkaException as refused:
                ended.put(refused.args[0].name())
                raise

    sink.producer = Hanging()
    more = written(sink, rows(range(5, 10)))
    with monkeypatch.context() as hasty:
        hasty.setattr(kafka_sink, "PATIENCE_S", 2.0)
        with pytest.raises(Unreachable, match="waiting for brokers"):
            sink.commit(1, more)
    sink.commit(1, more)
    goes_on.set()
    assert "FENCED" in ended.get(timeout=PATIENCE_S)
    sink.commit(2, written(sink, rows(range(10, 15))))
    assert values(topics, topic) == rows(range(15)).to_pylist()


@pytest.mark.parametrize("moment", ["idle", "open"])
def test_a_broker_that_is_killed_and_comes_back(mortal: Broker, moment: str) -> None:
    """Between two batches, and with a transaction open that has rows and the number of their batch: the run
    waits, and the batch is written once when the broker is back."""
    topics = Topics(mortal.address, moment)
    topic = topics.make()
    sink = opened(mortal.address, topic)
    assert isinstance(sink, KafkaSink)
    sink.prepare(SCHEMA)
    patiently(sink, 0, written(sink, rows(range(5))))
    lost = written(sink, rows(range(5, 10)))
    if moment == "open":
        sink.producer.begin_transaction()
        sink.send(lost)
        place = TopicPartition(topic, 0, 2)
        sink.producer.send_offsets_to_transaction([place], sink.numbers.consumer_group_metadata(), PATIENCE_S)
        assert sink.producer.flush(PATIENCE_S) == 0
    mortal.kill()
    with pytest.MonkeyPatch.context() as hasty:
        hasty.setattr(kafka_sink, "ANSWER_S", 3.0)
        other = opened(mortal.address, topic)
        with pytest.raises(Unreachable, match="waiting for brokers"):
            other.commit(1, lost)
    mortal.start()
    again = opened(mortal.address, topic)
    patiently(again, 1, lost)
    patiently(again, 2, written(again, rows(range(10, 15))))
    assert values(topics, topic) == rows(range(15)).to_pylist()


def test_an_end_that_brokers_have_lost_is_named(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's transaction holds the number of the batch: it looks the same as one without an end."""
    topic = topics.make()
    sink = opened(topics.address, topic)
    assert isinstance(sink, KafkaSink)
    sink.prepare(SCHEMA)
    other = Producer({"bootstrap.servers": topics.address, "transactional.id": "other"})
    other.init_transactions(PATIENCE_S)
    other.begin_transaction()
    sink.begin()
    place = TopicPartition(topic, 0, 1)
    other.send_offsets_to_transaction([place], sink.numbers.consumer_group_metadata(), PATIENCE_S)
    made = kafka_sink.made

    def patient(*given: Any) -> Any:
        hasty.undo()  # who does not care for transactions gets an answer, however slow brokers are
        return made(*given)

    with pytest.MonkeyPatch.context() as hasty:
        hasty.setattr(kafka_sink, "ANSWER_S", 2.0)
        hasty.setattr(kafka_sink, "made", patient)
        with pytest.raises(Unreachable, match="not all partitions know") as refused:
            sink.commit(0, written(sink, rows([0])))
    assert "find-hanging" in str(refused.value)
    other.abort_transaction(PATIENCE_S)
    sink.commit(0, written(sink, rows([0])))
    assert values(topics, topic) == rows([0]).to_pylist()
