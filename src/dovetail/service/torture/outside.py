"""A case on Spark with external systems: rows come from topics of Kafka, and go to a topic, a lake or a
database. Servers that the application needs are killed, too, and started again.

The servers are passed in: the caller has a broker and a database (`dev/dovetail_dev/servers.py`).
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dovetail.service.torture.modes import BY_VALUE
from dovetail.service.torture.oracle import Row
from dovetail.service.torture.spark_application import SparkApplication, micros
from dovetail.service.torture.spark_query import QueryEnds
from dovetail.service.torture.workload import Workload

SINKS = ("kafka", "delta", "iceberg", "duckdb", "postgres")
OUTSIDE_TURNS = ("interval", "theta", BY_VALUE)
_CONNECTION = "DOVETAIL_TORTURE_DATABASE"
_COLUMNS = "eventtime TIMESTAMP, k STRING, id BIGINT"
_PATIENCE_S = 60


class OutsideServer(Protocol):
    def start(self) -> None:
        """Returns when it answers."""

    def kill(self) -> None:
        """Kill it, like a machine that loses power."""


class Broker(OutsideServer, Protocol):
    address: str


class Database(OutsideServer, Protocol):
    @property
    def uri(self) -> str: ...


@dataclass(frozen=True)
class Servers:
    broker: Broker
    database: Database | None = None

    @property
    def sinks(self) -> tuple[str, ...]:
        return SINKS if self.database is not None else SINKS[:-1]


class OutsideApplication(SparkApplication):
    """One join between external systems."""

    def __init__(self, folder: Path, workload: Workload, sink: str, servers: Servers) -> None:
        self._place = f"torture-{uuid.uuid4().hex[:8]}"
        self._sink, self._servers = sink, servers
        self.servers: dict[str, OutsideServer] = {"broker": servers.broker}
        _make_topics(servers.broker.address, [self._topic(name) for name in ("l", "r", "out")])
        super().__init__(folder, workload, sink)
        if sink == "postgres" and servers.database is not None:
            self.servers["database"] = servers.database
            self.environment[_CONNECTION] = servers.database.uri

    def ends(self) -> QueryEnds:
        return QueryEnds(self._source("l"), self._source("r"), self._storage())

    def _source(self, name: str) -> str:
        topic, brokers = self._topic(name), self._servers.broker.address
        more = 'format = "json", times = "microseconds"'
        return f'({_COLUMNS}) FROM KAFKA("{topic}", brokers = "{brokers}", {more})'

    def feed(self, left: list[Row], right: list[Row], part: int) -> None:
        for name, rows in (("l", left), ("r", right)):
            values = ({"eventtime": micros(time), "k": key, "id": number} for key, time, number in rows)
            _send(self._servers.broker.address, self._topic(name), [json.dumps(row) for row in values])

    def rows_out(self) -> list[dict[str, Any]]:
        match self._sink:
            case "kafka":
                return [json.loads(text) for text in _read(self._servers.broker.address, self._topic("out"))]
            case "delta":
                from deltalake import DeltaTable

                return list(DeltaTable(f"{self.folder}/delta").to_pyarrow_table().to_pylist())
            case "iceberg":
                from pyiceberg.catalog import load_catalog

                catalog = load_catalog("dovetail", type="sql", uri=f"sqlite:///{self.folder}/catalog.db")
                return list(catalog.load_table("torture.pairs").scan().to_arrow().to_pylist())
            case "duckdb":
                import duckdb

                with duckdb.connect(f"{self.folder}/pairs.db", read_only=True) as file:
                    return list(file.sql("FROM pairs").to_arrow_table().to_pylist())
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.environment[_CONNECTION]) as db, db.cursor() as cursor:
            cursor.execute(f'SELECT * FROM "{self._place}"')
            return list(cursor.fetch_arrow_table().to_pylist())

    def _topic(self, name: str) -> str:
        return f"{self._place}.{name}"

    def _storage(self) -> str:
        match self._sink:
            case "kafka":
                brokers = self._servers.broker.address
                return f'KAFKA(topic = "{self._topic("out")}", brokers = "{brokers}", key = l)'
            case "delta":
                return f'DELTA(path = "{self.folder}/delta", merge_every = 3)'
            case "iceberg":
                where = f'uri = "sqlite:///{self.folder}/catalog.db", warehouse = "{self.folder}/lake"'
                return f'ICEBERG(table = "torture.pairs", {where}, merge_every = 3)'
            case "duckdb":
                return f'DUCKDB(path = "{self.folder}/pairs.db", table = "pairs")'
        return f'POSTGRES(connection = SECRET("{_CONNECTION}"), table = "{self._place}")'


def _make_topics(address: str, names: list[str]) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": address})  # its answers end with it
    kept = {"retention.ms": "-1"}  # rows are dated long ago
    made = admin.create_topics([NewTopic(name, 1, 1, config=kept) for name in names])
    for result in made.values():
        result.result(_PATIENCE_S)


def _send(address: str, topic: str, values: list[str]) -> None:
    """Each once, in this order, also if the broker has just been started."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    for value in values:
        producer.produce(topic, value.encode())
    if left := producer.flush(_PATIENCE_S):
        raise RuntimeError(f"{left} rows could not be sent to {topic}")


def _read(address: str, topic: str) -> list[str]:
    """The committed records."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

    settings = {
        "bootstrap.servers": address,
        "group.id": uuid.uuid4().hex,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while (message := consumer.poll(_PATIENCE_S)) is not None:
        if (error := message.error()) is None:
            found.append((message.value() or b"").decode())
        elif error.code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return found
        else:
            raise KafkaException(error)
    raise RuntimeError(f"{topic} cannot be read to its end")
