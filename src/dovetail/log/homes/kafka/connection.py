"""The connections of this process to the brokers of a home, and waiting for them.

Law: what a call has returned, the brokers have (`acks=all`); and a call that raises has changed nothing, or
has changed it and cannot tell. Brokers that are away are waited for: `WAIT_S` by a process that had reached
them before, a moment by one that never has, for its address may be wrong. A message is sent until it has
arrived, and arrives once and in order (an idempotent producer), unless it is sent `anyhow`.

Messages of segments are sent `anyhow`: one may arrive twice, or after a later one, if a connection breaks.
Its reader uses the offset that was reported for it, and no file names another copy. An idempotent producer
may have only five requests in flight. While it has more to send, its thread polls the clock, which takes more
CPU time than everything else that is done for a segment.

The library's threads do not survive a fork. A forked process makes connections of its own; those of its
parent it must not even close.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from dovetail.errors import HomeError, SettingError
from dovetail.log.homes.kafka.address import Address

HEADER = "segment"
MESSAGE_BYTES = 8 << 20
"""The largest message that our topics take."""
WAIT_S, FIRST_WAIT_S, LOOK_S = 600.0, 20.0, 0.5
SAY_S = 30.0
"""How often a waiting process says so."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h has them
READERS = 16
"""Topics that are read from at once; then the connection used least goes."""

Answer = TypeVar("Answer")
_LOG = logging.getLogger("dovetail")
_QUIET = logging.getLogger("dovetail.kafka")
_QUIET.setLevel(logging.CRITICAL)
_OPEN: WeakSet[Connection] = WeakSet()
_OF_PARENT: list[Any] = []


class Record(NamedTuple):
    """`key` and `value` as the broker has them. `of`: the file that a header names, if there is one."""

    offset: int
    key: bytes
    value: bytes | None
    written_s: float
    of: bytes


class Habit(NamedTuple):
    """How a topic is read. A client that has nothing to read asks the broker, which answers when something
    comes, or after `wait_ms`: so long a question about another place has to wait. Without `ahead` nothing is
    asked until somebody reads."""

    wait_ms: int
    kbytes: int
    ahead: bool
    fetched_bytes: int = 1 << 20
    checked: bool = True
    """By the client, against the checksum that the broker has. Those of segments are in commits."""


FOLLOWED = Habit(wait_ms=500, kbytes=4 << 10, ahead=True)
"""From its beginning on, as it grows."""
IN_ORDER = Habit(wait_ms=50, kbytes=32 << 10, ahead=True, fetched_bytes=MESSAGE_BYTES, checked=False)
"""Mostly one message after the other."""
HERE_AND_THERE = Habit(wait_ms=5, kbytes=4 << 10, ahead=False)


class Sent:
    """A message on its way."""

    offset: int | None = None
    error: Any = None

    def __init__(self, producer: Any) -> None:
        self.producer = producer

    def arrived(self, error: Any, message: Any) -> None:
        self.error, self.offset = error, None if error is not None else message.offset()

    @property
    def over(self) -> bool:
        return self.error is not None or self.offset is not None


class Connection:
    """All clients of one process for one home, each made when it is first needed."""

    def __init__(self, address: Address, root: str) -> None:
        try:
            import confluent_kafka
            import confluent_kafka.admin
        except ImportError as error:
            raise SettingError(
                "a home on Kafka needs the Kafka client",
                where=root,
                hint="pip install 'dovetail-joins[kafka]'",
            ) from error
        _keep_freed_memory()
        self.client: Any = confluent_kafka
        self._address, self._root = address, root
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        self.lock = threading.RLock()
        self._producer: Any = None
        self._bulk_producer: Any = None
        self._asker: Any = None
        self._admin: Any = None
        self._readers: OrderedDict[str, MessageReader] = OrderedDict()
        self._made: set[str] = set()
        self._said: str | None = None
        self.reached = False

    def forked(self) -> None:
        _OF_PARENT.append((self._producer, self._bulk_producer, self._asker, self._admin, self._readers))
        self._begin()

    def send(self, topic: str, key: str, value: Any, of: str | None = None, *, anyhow: bool = False) -> Sent:
        """Begin to send a message: `arrive` waits for it. `of`: the file that a header names."""
        producer = self._producing_anyhow() if anyhow else self._producing()
        sent, given = Sent(producer), {} if of is None else {"headers": {HEADER: of}}
        while True:
            try:
                producer.produce(topic, value, key.encode(), partition=0, on_delivery=sent.arrived, **given)
                return sent
            except BufferError:
                producer.poll(0.1)
            except self.client.KafkaException as error:  # too large, or the producer is beyond repair
                self._producer = None if error.args[0].fatal() else producer
                raise self.trouble(f"cannot write to topic {topic}", error.args[0]) from error

    def arrive(self, sent: Sequence[Sent]) -> list[int]:
        """Wait until the brokers have the messages. Returns their offsets."""
        waiting = _Waiting(self)
        for one in sent:
            while not one.over:
                if one.producer.poll(0.05) == 0 and not one.over:
                    waiting.go_on(None)
            if one.error is not None:
                if one.error.fatal():
                    self._producer = None
                raise self.trouble("cannot write to the home", one.error)
        self.reached = True
        return [one.offset or 0 for one in sent]

    def end(self, topic: str) -> int | None:
        """The offset of the next message of a topic; None if there is no such topic."""
        place = self.client.TopicPartition(topic, 0)
        kinds = self.client.KafkaError
        unknown = kinds.UNKNOWN_TOPIC_OR_PART, kinds._UNKNOWN_TOPIC, kinds._UNKNOWN_PARTITION

        def ask() -> int | None:
            try:
                return int(self._asking().get_watermark_offsets(place, timeout=2.0, cached=False)[1])
            except self.client.KafkaException as error:
                if error.args[0].code() in unknown and self._answers():
                    return None
                raise

        return self.patiently("cannot read the home", ask)

    def reader(self, topic: str, habit: Habit) -> MessageReader:
        """For a topic, from which this process reads again and again."""
        with self.lock:
            if topic not in self._readers:
                self._readers[topic] = MessageReader(self, topic, habit)
                if len(self._readers) > READERS:
                    self._readers.popitem(last=False)[1].close()
            self._readers.move_to_end(topic)
            return self._readers[topic]

    def make(self, topics: Sequence[str], config: Mapping[str, str]) -> None:
        """Make topics of one partition, unless they are there."""
        if self._made.issuperset(topics):
            return
        new = [self.client.admin.NewTopic(topic, 1, -1, config=dict(config)) for topic in topics]

        def ask() -> None:
            for answer in self._administering().create_topics(new, request_timeout=5.0).values():
                try:
                    answer.result(10.0)
                except self.client.KafkaException as error:
                    if error.args[0].code() != self.client.KafkaError.TOPIC_ALREADY_EXISTS:
                        raise

        self.patiently(f"cannot make topics {', '.join(topics)}", ask)
        self._made.update(topics)

    def delete_before(self, topic: str, offset: int, written_before_s: float) -> None:
        """Delete the messages below an offset, as far as they are older than that."""
        place, admin = self.client.TopicPartition(topic, 0, offset), self._administering()
        young = self.client.admin.OffsetSpec.for_timestamp(int(written_before_s * 1000))

        def ask() -> None:
            asked = {self.client.TopicPartition(topic, 0): young}
            [found] = admin.list_offsets(asked, request_timeout=5.0).values()
            first = found.result(10.0).offset
            place.offset = offset if first < 0 else min(offset, first)
            if place.offset > 0:
                [done] = admin.delete_records([place], request_timeout=5.0).values()
                done.result(10.0)

        self.patiently(f"cannot delete from topic {topic}", ask)

    def patiently(self, what: str, ask: Callable[[], Answer]) -> Answer:
        """Ask until the brokers answer. What is no matter of time is raised."""
        waiting = _Waiting(self)
        while True:
            try:
                answer = ask()
            except TimeoutError:
                waiting.go_on("no answer")
            except self.client.KafkaException as error:
                if not _passes(error.args[0], self.client.KafkaError):
                    raise self.trouble(what, error.args[0]) from error
                waiting.go_on(error.args[0].str())
                time.sleep(LOOK_S)
            else:
                self.reached = True
                return answer

    def trouble(self, what: str, error: Any) -> HomeError:
        kinds = self.client.KafkaError
        hint = "check the address of the home, and the rights of this user on its topics"
        if error.code() in (kinds.MSG_SIZE_TOO_LARGE, kinds._BAD_MSG):
            hint = f"set max.message.bytes of the home's topics to {MESSAGE_BYTES} or more"
        return HomeError(f"{what}: {error.str()}", where=self._root, hint=hint)

    def away(self, said: str | None) -> HomeError:
        return HomeError(
            f"the brokers of the home do not answer: {said or self._said or 'no answer'}",
            where=self._root,
            expected=f"an answer from {self._address.brokers}",
            hint="nothing is lost: start again when they are there"
            if self.reached
            else "check the address, and the settings of the client",
        )

    def said(self) -> str:
        return self._said or "no answer"

    def configured(self, **more: Any) -> dict[str, Any]:
        ours = {name.replace("_", "."): value for name, value in more.items()}
        quick: dict[str, Any] = {"reconnect.backoff.max.ms": 1000, "message.max.bytes": MESSAGE_BYTES}
        quick |= {"bootstrap.servers": self._address.brokers, "logger": _QUIET, "error_cb": self._failed}
        return quick | dict(self._address.settings) | ours

    def made(self, kind: Any, configuration: dict[str, Any]) -> Any:
        try:
            return kind(configuration)
        except self.client.KafkaException as error:
            refused = error.args[0].str()
            name = next((one for one in self._address.settings if one in refused), None)
            raise HomeError(
                f"the Kafka client does not accept {f'the setting {name}' if name else 'its settings'}",
                where=self._root,
                expected="settings as librdkafka documents them",
            ) from None

    def _failed(self, error: Any) -> None:
        """Called by the client when a connection fails."""
        if error.code() != self.client.KafkaError._ALL_BROKERS_DOWN or self._said is None:
            self._said = error.str()

    def _producing(self) -> Any:
        with self.lock:
            if self._producer is None:
                self._producer = self._new_producer(enable_idempotence=True)
            return self._producer

    def _producing_anyhow(self) -> Any:
        with self.lock:
            if self._bulk_producer is None:
                self._bulk_producer = self._new_producer(max_in_flight_requests_per_connection=1000)
            return self._bulk_producer

    def _new_producer(self, **more: Any) -> Any:
        configuration = self.configured(
            acks="all",
            linger_ms=0,
            message_timeout_ms=0,  # until it has arrived: the caller decides how long to wait
            batch_size=1 << 20,
            queue_buffering_max_kbytes=256 << 10,
            **more,
        )
        return self.made(self.client.Producer, configuration)

    def _asking(self) -> Any:
        """A client that reads nothing: a question would wait for a fetch that waits for messages."""
        with self.lock:
            if self._asker is None:
                self._asker = self.made(self.client.Consumer, self.configured(group_id="dovetail"))
            return self._asker

    def _administering(self) -> Any:
        with self.lock:
            if self._admin is None:
                self._admin = self.made(self.client.admin.AdminClient, self.configured())
            return self._admin

    def _answers(self) -> bool:
        """Whether brokers are there: a client that has reached none says that it knows no topic."""
        return bool(self._administering().list_topics(timeout=2.0).brokers)


class MessageReader:
    """Reads the messages of a topic's only partition from any offset on; one thread at a time."""

    def __init__(self, connection: Connection, topic: str, habit: Habit) -> None:
        self.lock = threading.RLock()
        self._connection, self._client, self._topic = connection, connection.client, topic
        self._position: int | None = None
        self._ahead = habit.ahead
        configuration = connection.configured(
            group_id="dovetail",  # the client wants one; nothing is committed to it
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            enable_partition_eof=True,
            auto_offset_reset="error",
            check_crcs=habit.checked,
            fetch_wait_max_ms=habit.wait_ms,
            fetch_message_max_bytes=habit.fetched_bytes,
            queued_max_messages_kbytes=habit.kbytes,
            fetch_error_backoff_ms=100,
            fetch_queue_backoff_ms=2,  # a full queue is read in a moment
            max_poll_interval_ms=86_400_000,  # who reads seldom is not dead
        )
        self._consumer = connection.made(self._client.Consumer, configuration)

    def close(self) -> None:
        with self.lock:
            self._consumer.close()

    def between(self, start: int, stop: int) -> list[Record]:
        """The messages from one offset up to another one, which the topic has reached. Those that are gone
        are left out. An offset below all that are there is none of them."""
        found: list[Record] = []
        waiting = _Waiting(self._connection)
        with self.lock:
            if self._position != start:
                self._consumer.assign([self._client.TopicPartition(self._topic, 0, start)])
                self._position = start
            while self._position < stop:
                messages = self._consumer.consume(min(stop - self._position, 4096), LOOK_S)
                if not messages:
                    waiting.go_on(None)
                there = [self._taken(message, found) for message in messages]
                if not all(there):
                    break
            if not self._ahead:
                self._consumer.unassign()
                self._position = None
        return found

    def _taken(self, message: Any, found: list[Record]) -> bool:
        """False if there is nothing to read at this place."""
        error, kinds = message.error(), self._client.KafkaError
        if error is None:
            offset, written_s = message.offset(), message.timestamp()[1] / 1000
            named = dict(message.headers() or ()).get(HEADER, b"")
            found.append(Record(offset, message.key() or b"", message.value(), written_s, named))
            self._position = offset + 1
        elif error.code() == kinds._PARTITION_EOF:
            self._position = max(self._position or 0, message.offset())
        elif error.code() in (kinds._AUTO_OFFSET_RESET, kinds.OFFSET_OUT_OF_RANGE):
            self._position = None
            return False
        elif not _passes(error, kinds):
            self._position = None
            raise self._connection.trouble(f"cannot read topic {self._topic}", error)
        return True


class _Waiting:
    """For brokers: how long already, and that somebody should know."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._since_s = time.monotonic()
        self._say_s = self._since_s + 5.0

    def go_on(self, said: str | None) -> None:
        """Raises if it has been long enough."""
        now_s = time.monotonic()
        if now_s - self._since_s > (WAIT_S if self._connection.reached else FIRST_WAIT_S):
            raise self._connection.away(said)
        if now_s > self._say_s:
            self._say_s = now_s + SAY_S
            _LOG.warning("waiting for the brokers of the home: %s", said or self._connection.said())


@cache
def _keep_freed_memory() -> None:
    """Tell the C library to use the memory of messages again. It would give it back to the system, and get it
    page by page for the next one, which costs more than all copies of a message together."""
    with suppress(OSError, AttributeError):  # another C library
        change = ctypes.CDLL(None).mallopt
        change(_MMAP_THRESHOLD, 32 << 20)
        change(_TRIM_THRESHOLD, 64 << 20)


def _passes(error: Any, kinds: Any) -> bool:
    """Whether waiting helps."""
    away = [kinds._TIMED_OUT, kinds._TRANSPORT, kinds._ALL_BROKERS_DOWN, kinds._WAIT_COORD, kinds._RESOLVE]
    away += [kinds.REQUEST_TIMED_OUT, kinds.NOT_CONTROLLER, kinds._TIMED_OUT_QUEUE]
    return bool(error.retriable()) or error.code() in away


def _forked() -> None:
    for connection in list(_OPEN):
        connection.forked()


os.register_at_fork(after_in_child=_forked)
