"""A topic as its brokers describe it: which partitions it has, where they begin and end.

Brokers may be away, and a topic may not be there yet. Both are `Trouble`, which passes: who asks, asks
again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from dovetail.connectors.kafka_client import Cluster, kafka, made

ANSWER_S = 5.0
"""How long an answer may take."""


class Trouble(Exception):
    """Why a topic cannot be read now, for people."""


class Described(NamedTuple):
    id: str
    partitions: frozenset[int]


@dataclass
class Topic:
    """Asks brokers about one topic. `last_error`: what the client said last about its connections."""

    cluster: Cluster
    name: str

    def __post_init__(self) -> None:
        self.last_error: str | None = None
        configuration = self.cluster.configured(self.failed, socket_timeout_ms=10_000)
        self._admin = made(kafka().admin.AdminClient, configuration)

    def failed(self, error: Any) -> None:
        """Called by the client when a connection fails."""
        self.said(error.code(), error.str())

    def said(self, code: int, words: str) -> None:
        if code != kafka().KafkaError._ALL_BROKERS_DOWN or self.last_error is None:
            self.last_error = words

    def describe(self) -> Described:
        topics = kafka().TopicCollection([self.name])
        found = self._answer(lambda: self._admin.describe_topics(topics, request_timeout=ANSWER_S))[self.name]
        return Described(str(found.topic_id), frozenset(one.id for one in found.partitions))

    def begin(self, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset that is still there."""
        return self._offsets(partitions, kafka().admin.OffsetSpec.earliest())

    def end(self, partitions: Iterable[int]) -> dict[int, int]:
        """Behind the last record whose transaction, if it has one, is over."""
        return self._offsets(partitions, kafka().admin.OffsetSpec.latest())

    def at(self, moment: datetime, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset with a timestamp from this moment on; the end where there is none."""
        asked = list(partitions)
        found = self._offsets(asked, kafka().admin.OffsetSpec.for_timestamp(int(moment.timestamp() * 1000)))
        none = [partition for partition, offset in found.items() if offset < 0]
        return found | (self.end(none) if none else {})

    def _offsets(self, partitions: Iterable[int], spec: Any) -> dict[int, int]:
        client = kafka()
        asked = {client.TopicPartition(self.name, partition): spec for partition in partitions}
        if not asked:
            return {}
        found = self._answer(
            lambda: self._admin.list_offsets(
                asked, isolation_level=client.IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_S
            )
        )
        return {place.partition: answer.offset for place, answer in found.items()}

    def _answer(self, ask: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
        client = kafka()
        self._admin.poll(0)  # lets it call `failed`
        try:
            answers = {asked: answer.result(2 * ANSWER_S) for asked, answer in ask().items()}
        except (client.KafkaException, TimeoutError) as error:
            self._admin.poll(0)
            raise self.trouble(error) from None
        self.last_error = None
        return answers

    def trouble(self, error: Exception) -> Trouble:
        client = kafka()
        code = error.args[0].code() if error.args and hasattr(error.args[0], "code") else None
        missing = (client.KafkaError.UNKNOWN_TOPIC_OR_PART, client.KafkaError._UNKNOWN_TOPIC)
        if code in missing:
            return Trouble(f"waiting for topic {self.name}: there is none at {self.cluster.brokers}")
        refused = (client.KafkaError.TOPIC_AUTHORIZATION_FAILED, client.KafkaError.GROUP_AUTHORIZATION_FAILED)
        if code in refused:
            return Trouble(f"waiting for topic {self.name}: brokers do not let this user read it")
        said = self.last_error or (error.args[0].str() if code is not None else "no answer")
        return Trouble(f"waiting for brokers at {self.cluster.brokers}: {said}")
