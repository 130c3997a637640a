"""Reads the records of a topic's partitions from given offsets on, without a consumer group: who reads says
where to start, and nobody else moves.

Transactions: records of open and aborted ones are not delivered. A partition's end is reached when the client
says so; its last offsets may belong to marks of transactions, which are no records, and compaction leaves
gaps. So `positions` follow what the client says, and are not counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.connectors.kafka_client import kafka, made
from dovetail.kafka.records import Records, gathered
from dovetail.kafka.topic import Topic

FETCHED = 10_000
"""Records that are asked for at once."""


class TopicReader:
    """`wanted`: parts of a record beside its value (`records.py`). `astray`: partitions that have no record
    at the offset that was asked for; who reads must `move` on in them. `refused`: why brokers do not let
    this user read, as long as they do not."""

    def __init__(self, topic: Topic, wanted: tuple[str, ...]) -> None:
        self.positions: dict[int, int] = {}
        self.astray: set[int] = set()
        self.refused: str | None = None
        self._topic, self._wanted = topic, wanted
        self._client = kafka()
        configuration = topic.cluster.configured(
            topic.failed,
            group_id="dovetail",  # the client wants one; nothing is committed to it
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            auto_offset_reset="error",
            isolation_level="read_committed",
            enable_partition_eof=True,
            fetch_wait_max_ms=100,
            fetch_error_backoff_ms=100,
            reconnect_backoff_max_ms=2000,
            allow_auto_create_topics=False,
        )
        self._consumer = made(self._client.Consumer, configuration)

    def add(self, offsets: Mapping[int, int]) -> None:
        """Read these partitions, too, from these offsets on."""
        self._consumer.incremental_assign(
            [
                self._client.TopicPartition(self._topic.name, partition, offset)
                for partition, offset in offsets.items()
            ]
        )
        self.positions |= offsets

    def move(self, partition: int, offset: int) -> None:
        """Go on elsewhere in a partition."""
        place = self._client.TopicPartition(self._topic.name, partition, offset)
        self._consumer.incremental_unassign([place])
        self._consumer.incremental_assign([place])
        self.positions[partition] = offset
        self.astray.discard(partition)

    def read(self, most: int, wait_s: float = 0.0) -> Records:
        """Up to `most` of the records that have come in."""
        messages = self._consumer.consume(min(most, FETCHED), wait_s)
        if not messages:
            return Records()
        errors = list(map(self._client.Message.error, messages))
        if any(errors):
            for message, error in zip(messages, errors, strict=True):
                if error is not None:
                    self._note(message, error)
            messages = [one for one, error in zip(messages, errors, strict=True) if error is None]
        records = gathered(messages, self._client.Message, self._wanted)
        if len(records):
            self.refused = None
        # The later one of a partition wins: they come in order.
        last = dict(zip(records.partitions, records.offsets, strict=True))
        for partition, offset in last.items():
            self.positions[partition] = max(self.positions[partition], offset + 1)
        return records

    def close(self) -> None:
        self._consumer.close()

    def _note(self, message: Any, error: Any) -> None:
        kinds = self._client.KafkaError
        if error.code() == kinds._PARTITION_EOF:
            partition = message.partition()
            self.positions[partition] = max(self.positions[partition], message.offset())
            self.refused = None
        elif error.code() in (kinds._AUTO_OFFSET_RESET, kinds.OFFSET_OUT_OF_RANGE):
            self.astray.add(message.partition())
        elif error.code() in (kinds.TOPIC_AUTHORIZATION_FAILED, kinds.GROUP_AUTHORIZATION_FAILED):
            self.refused = f"waiting for topic {self._topic.name}: {error.str()}"
        else:
            self._topic.failed(error)
