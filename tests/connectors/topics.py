"""Topics of a test: made, written to and read with the client alone, without any code of ours."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from dovetail_dev.spark_cluster import PATIENCE_S, until

LARGE = {"message.max.bytes": 20_000_000}
QUIET = {"log_level": 0}  # a broker that a test kills is no news
PASSING = ("INVALID_REPLICATION_FACTOR", "REQUEST_TIMED_OUT", "NOT_CONTROLLER", "_TIMED_OUT", "_TRANSPORT")
"""What brokers and the client say while a broker is not there."""


class Topics:
    def __init__(self, address: str, prefix: str) -> None:
        self.address, self._prefix = address, f"{prefix}-{uuid.uuid4().hex[:6]}"
        self._admin = AdminClient({"bootstrap.servers": address, **QUIET})

    def make(self, name: str = "t", partitions: int = 1, **config: str) -> str:
        topic = f"{self._prefix}.{name}"
        settings = {"retention.ms": "-1"}  # records may be dated long ago
        settings |= {key.replace("_", "."): value for key, value in config.items()}
        self._create(NewTopic(topic, partitions, 1, config=settings))
        until(lambda: self._is_led(topic, partitions), f"leaders of topic {topic}")
        return topic

    def _create(self, topic: NewTopic) -> None:
        """A broker that had no core for some seconds is taken for dead, and for that long makes no topic."""

        def created() -> bool:
            refused = self._admin.create_topics([topic])[topic.topic].exception(PATIENCE_S)
            if not isinstance(refused, KafkaException):
                return refused is None
            why = refused.args[0].name()
            assert why in (*PASSING, "TOPIC_ALREADY_EXISTS"), refused
            return bool(why == "TOPIC_ALREADY_EXISTS")  # an answer that came too late

        until(created, f"topic {topic.topic}")

    def _is_led(self, topic: str, partitions: int) -> bool:
        """A topic that was made a moment ago may have partitions without a leader. A client of its own asks:
        one that has heard of no leader may keep that in mind for minutes."""
        admin = AdminClient({"bootstrap.servers": self.address, **QUIET})
        asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        return all(answer.exception(PATIENCE_S) is None for answer in admin.list_offsets(asked).values())

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(PATIENCE_S)

    def make_again(self, topic: str) -> None:
        self._create(NewTopic(topic, 1, 1))

    def grow(self, topic: str, partitions: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(PATIENCE_S)
        until(lambda: self._is_led(topic, partitions), f"leaders of topic {topic}")

    def cut(self, topic: str, partition: int, before: int) -> None:
        """Delete the records below an offset."""
        place = TopicPartition(topic, partition, before)
        next(iter(self._admin.delete_records([place]).values())).result(PATIENCE_S)

    def write(self, topic: str, rows: Iterable[Mapping[str, Any]], *, partition: int | None = None) -> None:
        """Rows as JSON, keyed by nothing."""
        self.write_raw(topic, (json.dumps(row).encode() for row in rows), partition=partition)

    def write_raw(
        self,
        topic: str,
        values: Iterable[bytes | None],
        *,
        partition: int | None = None,
        key: bytes | None = None,
        headers: list[tuple[str, bytes]] | None = None,
        timestamp: int = 0,
    ) -> None:
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5, **LARGE, **QUIET})
        _send(producer, topic, values, partition, key, headers, timestamp)
        assert producer.flush(PATIENCE_S) == 0

    @contextmanager
    def writing(self, topic: str, partition: int) -> Iterator[Callable[[Mapping[str, Any]], None]]:
        """Sends a row at a time, in order and each once, also through a broker's death. In the end all are
        there."""
        producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True, **QUIET})

        def send(row: Mapping[str, Any]) -> None:
            _send(producer, topic, [json.dumps(row).encode()], partition)
            producer.poll(0)

        yield send
        assert producer.flush(PATIENCE_S) == 0

    def write_in_transaction(self, topic: str, rows: Iterable[Mapping[str, Any]], *, commit: bool) -> None:
        producer = Producer(
            {"bootstrap.servers": self.address, "transactional.id": uuid.uuid4().hex, **LARGE, **QUIET}
        )
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        _send(producer, topic, (json.dumps(row).encode() for row in rows))
        if commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.flush(PATIENCE_S)
            producer.abort_transaction(PATIENCE_S)

    def ends(self, topic: str) -> dict[int, int]:
        found: dict[int, int] = {}

        def asked() -> bool:
            admin = AdminClient({"bootstrap.servers": self.address, **QUIET})  # as for leaders
            try:
                partitions = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
                places = {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}
                answers = admin.list_offsets(places, isolation_level=IsolationLevel.READ_COMMITTED).items()
                found.update({place.partition: answer.result(PATIENCE_S).offset for place, answer in answers})
            except KafkaException:
                return False
            return bool(partitions)

        until(asked, f"the ends of topic {topic}")
        return found

    def read(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        """Keys and values of all committed records, partition by partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": uuid.uuid4().hex,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        open_partitions = set(self.ends(topic))
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in open_partitions])
        found: list[tuple[bytes | None, bytes | None]] = []
        while open_partitions:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{topic} cannot be read to its end"
            error = message.error()
            if error is None:
                found.append((message.key(), message.value()))
            else:
                assert error.name() == "_PARTITION_EOF", error
                open_partitions.discard(message.partition())
        consumer.close()
        return found


def _send(
    producer: Producer,
    topic: str,
    values: Iterable[bytes | None],
    partition: int | None = None,
    key: bytes | None = None,
    headers: list[tuple[str, bytes]] | None = None,
    timestamp: int = 0,
) -> None:
    more: dict[str, Any] = {} if partition is None else {"partition": partition}
    if timestamp:
        more["timestamp"] = timestamp

    def taken(error: KafkaError | None, message: Any) -> None:
        assert error is None, error

    for value in values:
        while True:
            try:
                producer.produce(topic, value, key, headers=headers, on_delivery=taken, **more)
                break
            except BufferError:
                producer.poll(0.1)
