"""What only a home on Kafka has: an order of records, messages that others read, brokers that are away."""

from __future__ import annotations

import itertools
import os
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer

from connectors.topics import Topics
from dovetail.errors import CorruptFile, HomeError, StateError
from dovetail.log import appending, compaction, history
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.kafka import connection, store
from dovetail.log.homes.kafka.connection import Connection, Sent
from dovetail.log.homes.kafka.names import FilePart, Named, encoded
from dovetail.log.homes.kafka.store import KafkaStore
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import until
from unit.log.conftest import SCHEMA, fresh  # noqa: F401


@pytest.fixture
def prefix() -> str:
    return f"home-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def home(broker: Broker, prefix: str) -> str:
    return f"kafka://{broker.address}/{prefix}"


@pytest.fixture
def other(home: str) -> str:
    """The same home, as another process sees it: with a store of its own."""
    return f"{home}?client.id=other"


@pytest.fixture
def topics(broker: Broker) -> Topics:
    return Topics(broker.address, "none")


def test_of_many_that_create_a_file_one_does(home: str, other: str) -> None:
    one, two = open_store(home), open_store(other)
    for number in range(5):
        with ThreadPoolExecutor(6) as threads:
            asked = [
                threads.submit(each.create, f"x{number}", b"%d" % n) for n, each in enumerate((one, two) * 3)
            ]
            done = [answer.result() for answer in asked]
        assert done.count(True) == 1
        assert one.read(f"x{number}") == two.read(f"x{number}") == b"%d" % done.index(True)


def test_what_was_deleted_may_be_created_again(home: str, other: str) -> None:
    one, two = open_store(home), open_store(other)
    assert one.create("x", b"first")
    assert not two.create("x", b"second")
    one.delete("x")
    assert two.size("x") is None
    assert two.create("x", b"third")
    assert one.read("x") == b"third"


def test_large_files_are_in_parts_and_leave_none(
    home: str, prefix: str, other: str, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PART_BYTES", 10_000)
    data = os.urandom(95_000)
    one, two = open_store(home), open_store(other)
    one.replace("f/x", data)
    assert two.read("f/x") == data
    assert two.buffer("f/x", 25_000, 7_000).to_pybytes() == data[25_000:32_000]
    assert two.buffer("f/x", 94_000, 9_000).to_pybytes() == data[94_000:]
    two.replace("f/x", data[::-1])
    assert one.read("f/x") == data[::-1]
    assert one.names("f") == ["x"]
    one.delete("f/x")
    left = dict(topics.read(f"{prefix}.content"))  # the last of each key, as compaction leaves it
    assert len(left) == 20
    assert set(left.values()) == {None}
    assert two.folders("") == []


@pytest.mark.parametrize("record_bytes", [2_000, 100_000])
def test_rows_larger_than_a_record(
    home: str, prefix: str, other: str, topics: Topics, record_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message of one large row is several records, and those of its neighbours stay one each."""
    monkeypatch.setattr(store, "RECORD_BYTES", record_bytes)
    monkeypatch.setattr(KafkaStore, "message_bytes", record_bytes)
    large = [os.urandom(size).hex() for size in (60_000, 250_000, 300)]
    rows = pa.RecordBatch.from_pydict({"id": [*range(5)], "name": ["a", *large, "b"]}, schema=SCHEMA)
    category = Category.create(home, "clicks", SCHEMA, buckets=4, compression="none")
    infos = category.write_segments([rows], lambda _: np.array([0, 1, 1, 1, 3]), lambda _: None)
    category.append(infos)
    sizes = [len(value or b"") for _, value in topics.read(f"{prefix}.log.clicks")]
    assert max(sizes) <= record_bytes
    assert len(sizes) > 5
    (segment,) = Category.open(other, "clicks").commit(0).segments
    assert Category.open(other, "clicks").open_segment(segment).batch.to_pylist() == rows.to_pylist()
    path = f"log/clicks/{segment.own_path}"
    whole = open_store(other).read(path)
    assert len(whole) == sum(sizes) == segment.bytes
    assert open_store(other).buffer(path, 90_000, 70_000).to_pybytes() == whole[90_000:160_000]


def test_a_driver_that_slept_overwrites_nothing(
    home: str, other: str, put: Any, ids: Any, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It falls asleep after it has looked which commit is next. Its heir commits that very one."""
    sleeper = Category.create(home, "clicks", SCHEMA, buckets=4)
    heir = Category.open(other, "clicks")
    put(sleeper, 0, producer="app", batch=0)
    mine = put.write(sleeper, 10)
    look, committed = history.next_commit, []

    def look_and_sleep(category: Category, known: int = 0) -> int:
        number = look(category, known)
        if category is sleeper and not committed:
            committed.append(put(heir, 10, producer="app", batch=1))
        return number

    with monkeypatch.context() as patch:
        patch.setattr(appending.history, "next_commit", look_and_sleep)
        with pytest.raises(StateError, match="batch 1 of app was appended by another run"):
            sleeper.append(mine, producer="app", batch=1)
    forget()
    assert heir.commit(1) == committed[0]
    assert sorted(ids(heir)) == [*range(20)]


def test_a_message_is_an_arrow_batch_of_one_bucket(home: str, prefix: str, topics: Topics, put: Any) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    put(category, 0, 100)
    found = topics.read(f"{prefix}.log.clicks")
    assert [key for key, _ in found] == [b"0", b"1", b"2", b"3"]
    for bucket, (_, value) in enumerate(found):
        rows = pa.ipc.open_stream(value).read_all()
        assert [one % 4 for one in rows["id"].to_pylist()] == [bucket] * 25


def test_messages_that_arrive_twice_or_out_of_order(
    home: str, other: str, prefix: str, broker: Broker, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments are sent without the promise that this does not happen, so it must do no harm."""
    category, send, count = (
        Category.create(home, "clicks", SCHEMA, buckets=4),
        Connection.send,
        itertools.count(),
    )

    def send_twice(self: Connection, *given: Any, anyhow: bool = False) -> Sent:
        copies = [send(self, *given, anyhow=anyhow) for _ in range(2 if anyhow else 1)]
        return copies[next(count) % len(copies)]

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "send", send_twice)
        put(category, 0, 100, producer="app", batch=0)
    assert sorted(ids(Category.open(other, "clicks"))) == [*range(100)]

    path = f"{category.folder}/segments/x.arrow"
    category.store.write(path, lambda output: [output.write(one) for one in (b"one ", b"two ", b"three ")])
    [one, two, three] = open_store(other).pieces(path)
    assert [piece.to_pybytes() for piece in (one, two, three)] == [b"one ", b"two ", b"three "]
    parts = tuple(FilePart(8 + number, size) for number, size in ((2, 6), (0, 4), (1, 4)))
    moved = Named(path, "later", 14, final=True, topic=f"{prefix}.log.clicks", parts=parts)
    producer = Producer({"bootstrap.servers": broker.address})
    producer.produce(f"{prefix}.names", encoded(moved), path.encode())
    assert producer.flush(300) == 0
    category.store.size(path)  # now the later record is known
    assert category.store.read(path) == b"three one two "


def test_retention_frees_the_topic(
    home: str, prefix: str, topics: Topics, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=3, fan=2, recent=1))
    monkeypatch.setattr(store, "FREE_S", 0.0)
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    for number in range(8):
        put(category, number * 10, producer="app", batch=number)
    category.set_reader("reader", 5)
    assert category.retain() == 5
    assert len(topics.read(f"{prefix}.log.clicks")) == 32, "they are young, and might be needed"
    monkeypatch.setattr(store, "WRITING_S", -60.0)
    put.write(category, 500)  # no commit names it: it goes with the orphans
    category.remove_orphans(grace_s=-60)
    category.set_reader("reader", 7)
    category.retain()
    for number in range(8, 12):
        put(category, number * 10, producer="app", batch=number)
    category.set_reader("reader", 11)
    category.retain()
    assert 0 < len(topics.read(f"{prefix}.log.clicks")) <= 8
    assert sorted(ids(category)) == [*range(110, 120)]


def test_messages_that_are_gone_are_a_missing_segment(
    home: str, prefix: str, topics: Topics, put: Any, forget: Callable[[], None]
) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    for first in (0, 10):
        put(category, first)
    topics.cut(f"{prefix}.log.clicks", 0, 2)
    forget()
    with pytest.raises(CorruptFile, match="a segment is missing"):
        category.open_segment(category.commit(0).segments[0])
    assert category.open_segment(category.commit(1).segments[0]).batch.num_rows == 10


def test_a_record_that_is_none_of_ours(home: str, prefix: str, broker: Broker, put: Any) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    put(category, 0)
    producer = Producer({"bootstrap.servers": broker.address})
    path = history.commit_path(category, 0)
    for key, value in ((b"\xff\xfe", b"?"), (path.encode(), b"garbage")):
        producer.produce(f"{prefix}.names", value, key)
    assert producer.flush(300) == 0
    history.forget()
    category.store.files(category.folder)  # now it is known: before, nobody would have changed a commit
    with pytest.raises(CorruptFile) as caught:
        category.commit(0)
    assert path in (caught.value.where or "")


def test_brokers_that_are_away_are_waited_for(
    home: str, broker: Broker, put: Any, ids: Any, caplog: pytest.LogCaptureFixture
) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    put(category, 0, producer="app", batch=0)
    broker.kill()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            put(category, 10, producer="app", batch=1)
        except BaseException as error:
            errors.append(error)

    waiting = threading.Thread(target=work)
    waiting.start()
    try:
        until(lambda: "waiting for the brokers of the home" in caplog.text, "that it says so")
        assert waiting.is_alive()
    finally:
        broker.start()
    waiting.join(300)
    assert not waiting.is_alive()
    assert errors == []
    assert sorted(ids(category)) == [*range(20)]


def test_brokers_that_were_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", 0.5)
    with pytest.raises(HomeError, match="the brokers of the home do not answer") as caught:
        open_store("kafka://127.0.0.1:1/x").read("a")
    assert "127.0.0.1:1" in str(caught.value)


def test_a_fork_has_connections_of_its_own(home: str, put: Any, ids: Any) -> None:
    category = Category.create(home, "clicks", SCHEMA, buckets=4)
    put(category, 0, producer="app", batch=0)
    child = os.fork()
    if child == 0:
        try:
            put(category, 10, producer="app", batch=1)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(ids(category)) == [*range(20)]
