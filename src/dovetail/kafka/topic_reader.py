"""Reads the records of a topic's partitions from given offsets on, without a consumer group: who reads says
where to start, and nobody else moves.

Transactions: records of open and aborted ones are not delivered. A partition's end is reached when the client
says so; its last offsets may belong to marks of transactions, which are no records, and compaction leaves
gaps. So `positions` follow what the client says, and are not counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dovetail.connectors.kafka_client import kafka
from dovetail.kafka.kernels import messages as kernels
from dovetail.kafka.librdkafka import NativeConsumer, address, error_text
from dovetail.kafka.records import Records, gathered
from dovetail.kafka.topic import Topic

FETCHED = 10_000
"""Records that are asked for at once."""


class TopicReader:
    """`wanted`: parts of a record beside its value (`records.py`). `astray`: partitions that have no record
    at the offset that was asked for; the caller must `move` on in them. `doubtful`: brokers have said that
    there is no such topic; a caller that has checked that it is the same one resets this. `refused`: why
    brokers do not let this user read, as long as they do not."""

    def __init__(self, topic: Topic, wanted: tuple[str, ...]) -> None:
        self.positions: dict[int, int] = {}
        self.astray: set[int] = set()
        self.doubtful = False
        self.refused: str | None = None
        self._topic, self._wanted = topic, wanted
        self._kinds = kafka().KafkaError
        settings = topic.cluster.plain(
            group_id="dovetail",  # the client wants one; nothing is committed to it
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            auto_offset_reset="error",
            isolation_level="read_committed",
            enable_partition_eof=True,
            fetch_wait_max_ms=100,
            fetch_queue_backoff_ms=5,  # by default a partition of which enough waits here rests for a second
            fetch_error_backoff_ms=100,
            reconnect_backoff_max_ms=2000,
            allow_auto_create_topics=False,
        )
        self._consumer = NativeConsumer(settings, topic.said)

    def add(self, offsets: Mapping[int, int]) -> None:
        """Read these partitions, too, from these offsets on."""
        self._consumer.assign(self._topic.name, offsets.items())
        self.positions |= offsets

    def move(self, partition: int, offset: int) -> None:
        """Go on elsewhere in a partition."""
        self._consumer.unassign(self._topic.name, partition)
        self._consumer.assign(self._topic.name, [(partition, offset)])
        self.positions[partition] = offset
        self.astray.discard(partition)

    def read(self, most: int, wait_s: float = 0.0) -> Records:
        """Up to `most` of the records that have come in."""
        messages = self._consumer.consume(min(most, FETCHED), int(wait_s * 1000))
        errors, partitions = np.empty(len(messages), np.int32), np.empty(len(messages), np.int32)
        offsets = np.empty(len(messages), np.int64)
        try:
            kernels.heads(messages, errors, partitions, offsets)
            for at in np.flatnonzero(errors).tolist():
                self._note(int(errors[at]), int(partitions[at]), int(offsets[at]), int(messages[at]))
            records = gathered(messages[errors == 0], self._wanted)
        finally:
            kernels.free(messages, address("message_destroy"))
        if len(records):
            self.refused = None
        for partition in np.unique(records.partitions).tolist():
            last = int(records.offsets[records.partitions == partition].max())
            self.positions[partition] = max(self.positions[partition], last + 1)
        return records

    def close(self) -> None:
        self._consumer.close()

    def _note(self, error: int, partition: int, offset: int, message: int) -> None:
        kinds = self._kinds
        if error == kinds._PARTITION_EOF:
            self.positions[partition] = max(self.positions[partition], offset)
            self.refused = None
        elif error in (kinds._AUTO_OFFSET_RESET, kinds.OFFSET_OUT_OF_RANGE):
            self.astray.add(partition)
        elif error in (kinds.UNKNOWN_TOPIC_OR_PART, kinds._UNKNOWN_TOPIC, kinds._UNKNOWN_PARTITION):
            self.doubtful = True
        elif error in (kinds.TOPIC_AUTHORIZATION_FAILED, kinds.GROUP_AUTHORIZATION_FAILED):
            self.refused = f"waiting for topic {self._topic.name}: {error_text(message)}"
        else:
            self._topic.said(error, error_text(message))
