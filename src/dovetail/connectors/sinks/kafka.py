"""`STORAGE KAFKA`: rows as records of a topic.

    tasks    make keys and values of their rows, and hand them to the driver, packed
    driver   in one transaction: the records of the batch, and its number

The number of the batch is the offset of a consumer group that nobody consumes with: Kafka commits offsets in
the transaction of the records, keeps them, and compacts them by itself. So there is no topic beside the
topic, and no record to look for. Before anything is written the driver takes over the name of the transaction
from the last writer: that ends what a process that died had begun, one way or the other, and only then is the
number read. What was committed is not written again, and what was not is gone.

A broker says that a transaction is committed before all partitions know. So a batch counts here when its
number can be read back: if all brokers die in between, the batch comes again and finds out what became of it.

The client is given a time for each answer, and does not always keep to it: after a broker has
died and come back, `send_offsets_to_transaction` may wait for ever (seen with librdkafka 2.16). So what is
asked of it is asked in a thread of its own, which alone holds the client meanwhile. A thread that shows no
sign of life for too long is left behind. The next one takes over the name of its transaction, so whatever it
may still send is refused.

At least once there is no transaction: records are out when brokers have them, and a batch that runs again is
written again."""

from __future__ import annotations

import base64
import io
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail.connectors.kafka_client import (
    TOPIC_NAMES,
    WRITING,
    Cluster,
    client_options,
    cluster_of,
    is_topic,
    kafka,
    made,
)
from dovetail.connectors.options import Option
from dovetail.connectors.schema_registry import OPTIONS, SCHEMA_FORMATS, Schema, registry_of
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.errors import DovetailError, PlaceError, PlanError, StateError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.connectors.flat_field import FlatField

Answer = TypeVar("Answer")
ANSWER_S = 15.0
COMMIT_S = 60.0
PATIENCE_S = 90.0
"""From one sign of life to the next: longer than any answer may take."""
LOOK_S = 0.1
AT_ONCE = 10_000
"""Records that are handed to the client in one call."""
FORMATS = ("json", "avro", "protobuf", "csv", "raw")
DELIVERIES = ("exactly once", "at least once")


@dataclass(frozen=True)
class KafkaKind:
    name: str = "KAFKA"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        Option("topic", "text", "The topic that the rows go to.", required=True),
        Option("brokers", "text", "Brokers: `host:port`, several with commas.", required=True),
        Option("format", "choice", "How values are written.", default="json", choices=FORMATS),
        Option("key", "columns", "The column that is the key of a record. It is in the value, too."),
        Option(
            "delivery", "choice", "With transactions, or without.", default=DELIVERIES[0], choices=DELIVERIES
        ),
        *OPTIONS,
        *client_options(WRITING),
    )

    def validate(self, options: dict[str, Any]) -> None:
        if len(options["key"] or ()) > 1:
            raise PlanError("the key of a record is one column", expected="key = a")
        if (options["format"] in SCHEMA_FORMATS) != (options["schema_registry"] is not None):
            raise PlanError(
                f"format {options['format']} "
                + (
                    "needs a schema registry"
                    if options["format"] in SCHEMA_FORMATS
                    else "knows no schema registry"
                ),
                expected='schema_registry = "http://localhost:8081", with avro or protobuf',
            )
        if not is_topic(options["topic"]):
            raise PlanError(f"`{options['topic'][:60]}` cannot name a topic", expected=TOPIC_NAMES)

    def place(self, options: dict[str, Any]) -> str:
        return f"topic {options['topic']} at {options['brokers']}"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        kafka(f"STORAGE {self.name}")
        return KafkaSink(cluster_of(given.values), given, writer)


@dataclass(frozen=True)
class Encoder:
    """Runs in the tasks: rows as keys and values, packed as a text."""

    format: str
    key: str | None
    schema: int = 0
    fields: tuple[FlatField, ...] = ()

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        import pyarrow as pa

        packed = io.BytesIO()
        count = 0
        schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
        with pa.ipc.new_stream(packed, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            for batch in rows:
                count += batch.num_rows
                keys = pa.nulls(batch.num_rows, pa.binary())
                if self.key is not None:
                    keys = _bytes(batch.column(self.key))
                stream.write_batch(pa.record_batch([keys, self._values(batch)], schema=schema))
        return base64.b64encode(packed.getvalue()).decode() if count else None

    def _values(self, batch: pa.RecordBatch) -> pa.Array:
        from dovetail.connectors.flat_records import records as flat_records
        from dovetail.connectors.record_text import csv_lines, json_objects

        if self.format in SCHEMA_FORMATS:
            return flat_records(self.format, self.fields, self.schema, batch)
        if self.format == "raw":
            return _bytes(next(batch.column(name) for name in batch.schema.names if name != self.key))
        return _bytes((json_objects if self.format == "json" else csv_lines)(batch))


def _bytes(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return column.cast(pa.string() if not pa.types.is_binary(column.type) else column.type).cast(pa.binary())


def records(written: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    """What tasks have packed, some records at a time."""
    import pyarrow as pa

    for text in written:
        for batch in pa.ipc.open_stream(base64.b64decode(text)):
            for start in range(0, batch.num_rows, AT_ONCE):
                yield batch.slice(start, AT_ONCE).to_pylist()


@dataclass
class KafkaSink:
    cluster: Cluster
    given: Revealed = field(repr=False)
    writer: Writer

    def __post_init__(self) -> None:
        self.topic: str = self.given.values["topic"]
        self._once = self.given.values["delivery"] == DELIVERIES[0]
        self.producer: Any = None
        self.numbers: Any = None
        self._known: int | None = None  # the last batch, since the producer is open
        self._heard: deque[str] = deque(maxlen=1)  # what the client has said last; all copies have it
        self._registry = registry_of(self.given.values)
        self._schemas: dict[Schema, int] = {}
        self._lost: Any = None  # why a record did not arrive
        self._pulse = [0.0]

    @property
    def place(self) -> str:
        return f"topic {self.topic} at {self.cluster.brokers}"

    @property
    def name(self) -> str:
        """For the transaction, and of the group whose offset is the number of the last batch."""
        return f"dovetail.{self.topic}.{self.writer}"

    def encoder(self, schema: pa.Schema) -> Encoder:
        keys = self.given.values.get("key") or ()
        form, key = self.given.values["format"], keys[0] if keys else None
        if form not in SCHEMA_FORMATS:
            return Encoder(form, key)
        from dovetail.connectors.flat_schema import schema_for  # with kernels, which no plan needs

        made, fields = schema_for(form, self.topic, schema)
        if made not in self._schemas:
            assert self._registry is not None
            self._schemas[made] = self._registry.register(f"{self.topic}-value", made)
        return Encoder(form, key, self._schemas[made], tuple(fields))

    def check(self, schema: pa.Schema) -> None:
        key = next(iter(self.given.values.get("key") or ()), None)
        form = self.given.values["format"]
        if key is not None and key not in schema.names:
            raise PlanError(
                f"the table has no column {key} for the key",
                where=self.place,
                expected=", ".join(schema.names),
            )
        if form in SCHEMA_FORMATS:
            from dovetail.connectors.flat_schema import schema_for

            schema_for(form, self.topic, schema)
        if form == "raw" and len(set(schema.names) - {key}) != 1:
            raise PlanError(
                "format raw writes one column",
                where=self.place,
                expected="a table with one column beside the key",
                hint='format = "json" writes all columns',
            )
        admin = made(kafka().admin.AdminClient, self.cluster.configured(self._failed))
        try:
            known = admin.list_topics(timeout=ANSWER_S).topics
        except kafka().KafkaException as error:
            raise self._said(error) from None
        if self.topic not in known:
            raise PlaceError(
                f"there is no topic {self.topic}",
                where=self.place,
                expected="a topic that exists",
                hint="create it with the partitions and settings that it needs",
            )
        if self._once:
            self._require_alone(admin)

    def prepare(self, schema: pa.Schema) -> None:
        self.check(schema)
        self.encoder(schema)

    def output(self, schema: pa.Schema) -> Encoder:
        return self.encoder(schema)

    def last(self) -> int:
        if not self._once:
            return -1
        return self._in_time(lambda sink: sink._begun_last())

    def commit(self, batch: int, written: Sequence[str]) -> None:
        self._in_time(lambda sink: sink._commit(batch, written))

    def _in_time(self, work: Callable[[KafkaSink], Answer]) -> Answer:
        """Done by a copy of this sink, which has the client for so long. If it fails, the client is gone."""
        attempt, self.producer, self.numbers, self._known = copy(self), None, None, None
        pulse = attempt._pulse = [time.monotonic()]
        done: SimpleQueue[tuple[Answer, KafkaSink] | BaseException] = SimpleQueue()
        threading.Thread(
            target=_attempted, args=(attempt, work, done), name="dovetail-kafka-sink", daemon=True
        ).start()
        del attempt  # the thread has it: it is the one to let go of the client
        while True:
            try:
                answer = done.get(timeout=max(0.0, pulse[0] + PATIENCE_S - time.monotonic()))
                break
            except Empty:
                if time.monotonic() - pulse[0] >= PATIENCE_S:
                    said = self._heard[-1] if self._heard else "no answer"
                    raise Unreachable(
                        f"waiting for brokers: {self.given.hide(said)}", where=self.place
                    ) from None
        if isinstance(answer, BaseException):
            raise answer
        result, sink = answer
        self.producer, self.numbers, self._known = sink.producer, sink.numbers, sink._known
        return result

    def _begun_last(self) -> int:
        self.begin()
        return self._last()

    def _commit(self, batch: int, written: Sequence[str]) -> None:
        self.begin()
        if not self._once:
            self.send(written)
            self._flush()
        elif batch > self._last():
            self._transact(batch, written)

    def begin(self) -> None:
        """A producer of this process. From now on brokers refuse any earlier one with this name."""
        if self.producer is not None:
            return
        self._beat()
        client = kafka()
        settings: dict[str, Any] = {"enable_idempotence": True, "linger_ms": 20}
        settings["delivery_report_only_error"] = True
        if self._once:
            settings |= {"transactional_id": self.name, "transaction_timeout_ms": 120_000}
        producer = made(client.Producer, self.cluster.configured(self._failed, **settings))
        if self._once:
            self.numbers = made(
                client.Consumer,
                self.cluster.configured(self._failed, group_id=self.name, enable_auto_commit=False),
            )
            producer.init_transactions(ANSWER_S)
        self.producer, self._known = producer, None

    def _last(self) -> int:
        if self._known is None:
            self._known = self._read_back()
        return self._known

    def _read_back(self) -> int:
        self._beat()
        client = kafka()
        place = client.TopicPartition(self.topic, 0)
        try:
            (found,) = self.numbers.committed([place], ANSWER_S)
        except client.KafkaException as error:
            if error.args[0].code() == client.KafkaError._TIMED_OUT and self._answers(place):
                raise self._hanging() from None
            raise
        return int(found.offset) - 1 if found.offset >= 0 else -1

    def _answers(self, place: Any) -> bool:
        """Brokers answer a consumer that ignores transactions."""
        self._beat()
        client = kafka()
        settings = {"group_id": self.name, "enable_auto_commit": False}
        careless = self.cluster.configured(self._failed, **settings) | {"isolation.level": "read_uncommitted"}
        try:
            return bool(made(client.Consumer, careless).committed([place], ANSWER_S))
        except client.KafkaException:
            return False

    def _hanging(self) -> DovetailError:
        return Unreachable(
            "waiting for brokers: a transaction of this table has ended, but not all partitions know it yet",
            where=self.place,
            hint="if this does not pass, brokers have lost its end: `kafka-transactions.sh find-hanging` "
            "shows it, and after `abort` the batch is written again",
        )

    def _transact(self, batch: int, written: Sequence[str]) -> None:
        producer, client = self.producer, kafka()
        producer.begin_transaction()
        self.send(written)
        number = client.TopicPartition(self.topic, 0, batch + 1)
        self._beat()
        producer.send_offsets_to_transaction([number], self.numbers.consumer_group_metadata(), ANSWER_S)
        self._beat()
        producer.commit_transaction(COMMIT_S)
        self._known = self._read_back()

    def send(self, written: Sequence[str]) -> None:
        for messages in records(written):
            left = messages
            while left:
                self._beat()
                queued = self.producer.produce_batch(self.topic, left, on_delivery=self._undelivered)
                left = [one for one in left if "_error" in one] if queued < len(left) else []
                for one in left:
                    error = one.pop("_error")
                    if error.code() != kafka().KafkaError._QUEUE_FULL:
                        raise kafka().KafkaException(error)
                self.producer.poll(0.05 if left else 0)

    def _flush(self) -> None:
        self._beat()
        left = self.producer.flush(COMMIT_S)
        if self._lost is not None:
            raise kafka().KafkaException(self._lost)
        if left:
            said = self._heard[-1] if self._heard else "no answer"
            raise Unreachable(f"brokers do not take records: {said}", where=self.place)

    def _beat(self) -> None:
        self._pulse[0] = time.monotonic()

    def _undelivered(self, error: Any, message: Any) -> None:
        self._lost = error

    def _failed(self, error: Any) -> None:
        self._heard.append(error.str())

    def _said(self, error: Exception) -> DovetailError:
        """What it means for the batch. The producer is not used again: the next one under its name ends what
        this one has begun."""
        client, refused = kafka(), error.args[0]
        kinds = client.KafkaError
        if refused.code() in (kinds._FENCED, kinds.INVALID_PRODUCER_EPOCH, kinds.PRODUCER_FENCED):
            return StateError(
                "another run writes this table to the same topic",
                where=self.place,
                expected="one run of an application",
                hint="stop one of them",
            )
        denied = (kinds.TOPIC_AUTHORIZATION_FAILED, kinds.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if refused.code() in (*denied, kinds.GROUP_AUTHORIZATION_FAILED):
            return PlaceError(f"brokers do not let this user write: {refused.str()}", where=self.place)
        if refused.code() == kinds.MSG_SIZE_TOO_LARGE:
            return PlaceError(
                "a row is larger than a record may be",
                where=self.place,
                hint="raise max.message.bytes of the topic, and message_max_bytes here",
            )
        said = self._heard[-1] if self._heard else refused.str()
        return Unreachable(f"waiting for brokers: {self.given.hide(said)}", where=self.place)

    def _require_alone(self, admin: Any) -> None:
        prefix = f"dovetail.{self.topic}."
        groups = [one.group_id for one in self._groups(admin)]
        others = [one.removeprefix(prefix) for one in groups if one.startswith(prefix)]
        self.writer.require_alone(others, self.place, forget=f"its consumer group {prefix}..")

    def _groups(self, admin: Any) -> list[Any]:
        """All consumer groups. The client gives what some brokers say together with the errors of others, so
        an answer without groups may be none. Who may not list groups is not held up by that."""
        client, until_s = kafka(), time.monotonic() + ANSWER_S
        away = client.KafkaError._TIMED_OUT, client.KafkaError._TRANSPORT, client.KafkaError._ALL_BROKERS_DOWN
        while True:
            try:
                found = admin.list_consumer_groups(request_timeout=ANSWER_S).result(2 * ANSWER_S)
                valid, errors = list(found.valid), list(found.errors)
            except TimeoutError:  # the client has not kept to the time that it was given
                raise Unreachable("waiting for brokers: no answer", where=self.place) from None
            except client.KafkaException as refused:
                valid, errors = [], [refused.args[0]]
            passing = [error for error in errors if error.retriable() or error.code() in away]
            if not passing:
                return valid
            if time.monotonic() > until_s:
                raise self._said(client.KafkaException(passing[0]))
            time.sleep(LOOK_S)  # a broker that has just started reads what groups it has


def _attempted(
    sink: KafkaSink,
    work: Callable[[KafkaSink], Answer],
    done: SimpleQueue[tuple[Answer, KafkaSink] | BaseException],
) -> None:
    """Says what became of it without a trace: in that stand the frames, and in these the client."""
    try:
        answer = work(sink)
    except kafka().KafkaException as error:
        done.put(sink._said(error))
    except BaseException as error:
        error.__context__ = None
        done.put(error.with_traceback(None))
    else:
        done.put((answer, sink))
